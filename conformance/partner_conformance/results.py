"""The results of checks. Pure."""

from dataclasses import dataclass

from partner_conformance.definition import Check

PASSED, ADVICE, FAILED, NOT_TRIED = "passed", "advice", "failed", "not tried"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of one check; `said` is the finding, the advice, or why it was not tried.

    `blocked_by` names the check whose failure this one repeats.
    """

    check: Check
    result: str
    said: str = ""
    request_ids: tuple[str, ...] = ()
    blocked_by: str = ""
    is_unanswered: bool = False
    is_over_budget: bool = False
    is_key_refused: bool = False
    seconds: float = 0.0


def printable(text: str) -> str:
    """Write text on one line: what is not seen becomes an escape, so that no answer steers a terminal or a report."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
