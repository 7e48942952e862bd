"""The suite: all checks, the choice of checks to run, and their results."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from importlib import import_module

from partner_conformance.definition import Check, Risk
from partner_conformance.inputs import Inputs
from partner_conformance.replies import Advice, KeyRefused, NoAnswer, NotTried, OverBudget, Violation
from partner_conformance.results import ADVICE, FAILED, NOT_TRIED, PASSED, Result
from partner_conformance.subject import SHARED_CALLS, Subject

_MODULES = (
    *("health", "members", "authentication", "lists", "usage", "proofs", "uploads", "verify", "requests"),
    *("verdicts", "binding", "forgery", "errors", "rotation", "changes", "replays", "erasure"),
    "every_reply",  # last, because it reads the replies of all others
)

# Chosen: calls to find out whether the service is down or the key is refused, and to repeat what failed.
_RESERVE = 20


def _checks_of(name: str) -> Iterator[Check]:
    """Yield the checks of a module; a rule of both lists is two checks."""
    for value in vars(import_module(f"partner_conformance.checks.{name}")).values():
        yield from (each for each in (value if isinstance(value, tuple) else (value,)) if isinstance(each, Check))


CHECKS = {each.name: each for module in _MODULES for each in _checks_of(module)}
"""All checks by name, in the order of their runs."""

_FIRST = (
    "authentication-1-key-is-taken",
    "resources-keys-record-fields",
    "resources-proofs-item-fields",
    "endpoints-reading-changes-nothing",  # before any record is read
    "resources-upload-fields",
    "endpoints-slot-takes-fields-then-file",
    "endpoints-11-verification-changes-nothing",  # before anything is verified
    "resources-verify-fields",
    "verdicts-accepted-one-file-is-valid",
    "verdicts-accepted-pair-is-valid",
)
"""What many checks build on runs first, so that a failure of it is found by its own check."""


def matching(pattern: str) -> list[str]:
    """Return the names of the checks that match a name or a pattern such as `rotate-*`."""
    return [name for name in CHECKS if fnmatchcase(name, pattern)]


def chosen(only: Iterable[str], include: Iterable[str], *, is_test_environment: bool = False) -> list[Check]:
    """Return the checks named in `only`, or by default all without a risk, and those named in `include`.

    A name may be a pattern such as `rotate-*`. In a test environment a key may also be in a URL, where servers log it.
    """
    named, more = ({name for pattern in patterns for name in matching(pattern)} for patterns in (only, include))
    harmless = {Risk.NONE, Risk.EXPOSES} if is_test_environment else {Risk.NONE}
    wanted = named | more if named else {name for name, each in CHECKS.items() if each.risk in harmless} | more
    return [each for name, each in CHECKS.items() if name in wanted]


def most_calls(checks: Iterable[Check], inputs: Inputs) -> int:
    """Return the most keyed calls that these checks make, with a reserve; shared replies make it fewer."""
    possible = [each for each in checks if not inputs.missing(each.needs)]
    shared = {each.shares for each in possible if each.shares}
    return _RESERVE + sum(each.own_calls for each in possible) + sum(SHARED_CALLS[name] for name in shared)


def run(checks: Iterable[Check], subject: Subject) -> Iterator[Result]:
    """Run one check after another; of findings with one root only the first is a failure, and it blocks the others."""
    ordered = list(checks)
    ordered.sort(key=lambda each: _FIRST.index(each.name) if each.name in _FIRST else len(_FIRST))
    roots: dict[str, str] = {}
    for each in ordered:
        began = time.monotonic()
        yield replace(_result_of(each, subject, roots), seconds=time.monotonic() - began)


def _result_of(each: Check, subject: Subject, roots: dict[str, str]) -> Result:
    missing = subject.inputs.missing(each.needs)
    if missing:
        options = ", ".join(subject.inputs.option(name) for name in missing)
        return Result(check=each, result=NOT_TRIED, said=f"needs {options}")
    try:
        each.run(subject)
    except KeyRefused as end:
        return _without_key(each, subject, end)
    except Violation as end:
        first = roots.setdefault(end.root or each.name, each.name)
        if first != each.name:
            said = f"blocked by {first}: {end.said}"
            return Result(check=each, result=NOT_TRIED, said=said, request_ids=end.request_ids, blocked_by=first)
        return Result(check=each, result=FAILED, said=end.said, request_ids=end.request_ids)
    except (Advice, NotTried) as end:
        return Result(
            check=each,
            result=ADVICE if isinstance(end, Advice) else NOT_TRIED,
            said=end.said,
            request_ids=end.request_ids,
            is_unanswered=isinstance(end, NoAnswer),
            is_over_budget=isinstance(end, OverBudget),
        )
    return Result(check=each, result=PASSED)


def _without_key(each: Check, subject: Subject, end: KeyRefused) -> Result:
    """Return the result of a check whose key is refused: a violation if the suite has just rotated it."""
    is_lost_by_rotation = subject.rotation is not None
    is_told, subject.is_key_lost = subject.is_key_lost, True
    if is_lost_by_rotation and not is_told:
        said = "since its rotation the key is refused; it must work for 72 hours"
        return Result(check=each, result=FAILED, said=said, request_ids=end.request_ids)
    return Result(
        check=each, result=NOT_TRIED, said=end.said, request_ids=end.request_ids, is_key_refused=not is_lost_by_rotation
    )
