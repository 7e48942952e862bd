"""The sentences of the contract: each with its checks, or with the reason why it cannot be tested."""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib.resources import files

from partner_conformance.results import NOT_TRIED, Result
from partner_conformance.suite import CHECKS

_WHY_NOT = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """One sentence, in our own words; `why_not` is empty if it has checks."""

    section: str
    text: str
    checks: tuple[str, ...]
    why_not: str


class Coverage:
    """How many sentences some results test; without results, how many have a check."""

    def __init__(self, results: Sequence[Result] | None) -> None:
        tried = set(CHECKS) if results is None else {each.check.name for each in results if each.result != NOT_TRIED}
        self.all = len(SENTENCES)
        self.tested = sum(not tried.isdisjoint(each.checks) for each in SENTENCES)
        self.testable = sum(bool(each.checks) for each in SENTENCES)

    def __str__(self) -> str:
        """Say how many of the testable sentences are tested."""
        untestable = self.all - self.testable
        return (
            f"{self.tested} of the contract's {self.testable} testable sentences ({untestable} more cannot be tested)"
        )


def _read() -> list[Sentence]:
    """Read the table: section, sentence, and patterns of checks or `-` and a reason."""
    lines = files(__package__).joinpath("sentences.txt").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.split("|")] for line in lines if line and not line.startswith("#")]
    return [_sentence(*row) for row in rows]


def _sentence(section: str, text: str, tested: str) -> Sentence:
    why_not = tested.removeprefix(_WHY_NOT).strip() if tested.startswith(_WHY_NOT) else ""
    patterns = [] if why_not else tested.split()
    names = tuple(name for name in CHECKS if any(fnmatchcase(name, pattern) for pattern in patterns))
    return Sentence(section=section, text=text, checks=names, why_not=why_not)


SENTENCES = _read()
"""Every sentence that says what a service does or what a caller may count on, in the order of the contract."""
