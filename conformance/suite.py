"""The suite: which checks there are, which are run, and what came of each."""

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
    every_reply,  # looks back at what the others saw
)

CHECKS = {each.name: each for module in _MODULES for each in vars(module).values() if isinstance(each, Check)}
"""All checks by name, in the order in which they are run."""

PASSED, FAILED, NOT_TRIED = "passed", "failed", "not tried"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of one check; `said` tells what was seen, or why it was not tried."""

    check: Check
    result: str
    said: str = ""
    request_ids: tuple[str, ...] = ()
    is_unanswered: bool = False


def chosen(only: Iterable[str], include: Iterable[str]) -> list[Check]:
    """Give the checks that are named in `only`, else all that are harmless with those named in `include`."""
    named, more = set(only), set(include)
    wanted = named | more if named else {name for name, each in CHECKS.items() if each.risk is Risk.NONE} | more
    return [each for name, each in CHECKS.items() if name in wanted]


def most_calls(checks: Iterable[Check], subject: Subject) -> int:
    """Say how many keyed calls these checks take at most; what several look at is asked for once."""
    return sum(each.calls for each in checks if not subject.inputs.missing(each.needs))


def run(checks: Iterable[Check], subject: Subject) -> Iterator[Result]:
    """Make one check after another."""
    for each in checks:
        yield _made(each, subject)


def _made(each: Check, subject: Subject) -> Result:
    missing = subject.inputs.missing(each.needs)
    if missing:
        options = ", ".join(subject.inputs.option(name) for name in missing)
        return Result(check=each, result=NOT_TRIED, said=f"needs {options}")
    try:
        each.make(subject)
    except (Violation, NotTried) as end:
        return Result(
            check=each,
            result=FAILED if isinstance(end, Violation) else NOT_TRIED,
            said=end.said,
            request_ids=end.request_ids,
            is_unanswered=isinstance(end, NoAnswer),
        )
    return Result(check=each, result=PASSED)
