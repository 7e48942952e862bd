"""The suite: all checks, the choice of checks to run, and their results."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import ModuleType

from conformance.checks import (
    authentication,
    erasure,
    errors,
    every_reply,
    health,
    keys,
    proof_list,
    proofs,
    rotation,
    uploads,
    usage,
    verdicts,
    verify,
)
from conformance.definition import Check, Risk
from conformance.replies import NoAnswer, NotTried, Violation
from conformance.subject import Subject

_MODULES: tuple[ModuleType, ...] = (
    health,
    authentication,
    keys,
    usage,
    proof_list,
    proofs,
    uploads,
    verify,
    verdicts,
    errors,
    rotation,
    erasure,
    every_reply,  # last, because it reads the replies of all others
)

CHECKS = {each.name: each for module in _MODULES for each in vars(module).values() if isinstance(each, Check)}
"""All checks by name, in the order of their runs."""

PASSED, FAILED, NOT_TRIED = "passed", "failed", "not tried"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of one check; `said` is the finding, or why it was not tried."""

    check: Check
    result: str
    said: str = ""
    request_ids: tuple[str, ...] = ()
    is_unanswered: bool = False


def chosen(only: Iterable[str], include: Iterable[str]) -> list[Check]:
    """Return the checks named in `only`, or by default all without a risk, and those named in `include`."""
    named, more = set(only), set(include)
    wanted = named | more if named else {name for name, each in CHECKS.items() if each.risk is Risk.NONE} | more
    return [each for name, each in CHECKS.items() if name in wanted]


def most_calls(checks: Iterable[Check], subject: Subject) -> int:
    """Return the most keyed calls that these checks make; shared replies make it fewer."""
    return sum(each.calls for each in checks if not subject.inputs.missing(each.needs))


def run(checks: Iterable[Check], subject: Subject) -> Iterator[Result]:
    """Run one check after another."""
    for each in checks:
        yield _result_of(each, subject)


def _result_of(each: Check, subject: Subject) -> Result:
    missing = subject.inputs.missing(each.needs)
    if missing:
        options = ", ".join(subject.inputs.option(name) for name in missing)
        return Result(check=each, result=NOT_TRIED, said=f"needs {options}")
    try:
        each.run(subject)
    except (Violation, NotTried) as end:
        return Result(
            check=each,
            result=FAILED if isinstance(end, Violation) else NOT_TRIED,
            said=end.said,
            request_ids=end.request_ids,
            is_unanswered=isinstance(end, NoAnswer),
        )
    return Result(check=each, result=PASSED)
