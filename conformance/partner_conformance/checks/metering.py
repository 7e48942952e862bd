"""What usage counts: each day, each call once, and the same as the headers say."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

from partner_conformance import sounds
from partner_conformance.assertions import expect, header_number, number_of, object_of, objects_of, success_members
from partner_conformance.definition import check
from partner_conformance.operations import INTERPRETATION, KEYS, PROOF, PROOFS, UPLOADS, USAGE
from partner_conformance.replies import NotTried, Reply
from partner_conformance.subject import MOMENT_SECONDS, Subject

_WINDOWS = (1, 7, 90)
# Chosen: `remaining` and the header are read a moment apart, and another user of the key may call in between.
_MOST_APART = 2
# The contract does not show the form of a day's label, so only common ones are known: those in
# which year, month and day cannot be confused.
_DAY_FORMS = (
    "%Y-%m-%d",
    "%Y%m%d",
    "%Y/%m/%d",
    "%Y.%m.%d",
    "%d %b %Y",
    "%d %B %Y",
    "%b %d, %Y",
    "%B %d, %Y",
    "%d-%b-%Y",
)
_COUNTED = ((KEYS, {"limit": "1"}), (PROOFS, {"limit": "1"}), (UPLOADS, {"purpose": "verify"}))


@check(calls=len(_WINDOWS))
def resources_usage_has_an_entry_for_each_day(service: Subject) -> None:
    """A window of n days has n entries, one for each UTC day."""
    for window in _WINDOWS:
        reply = _usage(service, window)
        count = len(_days(reply))
        expect(count == window, f"there are {count} entries with days={window}", reply)


@check(calls=1)
def resources_usage_days_end_today(service: Subject) -> None:
    """The entries are the latest UTC days, without a gap, and today is one of them."""
    labels = [str(day.get("date")) for day in _days(service.usage)]
    days = [_day_of(label) for label in labels]
    known = sorted(day for day in days if day is not None)
    if len(known) < len(labels):
        raise NotTried(f"the form of the label {labels[days.index(None)][:40]!r} is not known")
    now = datetime.now(UTC)
    near = {(now + timedelta(minutes=minutes)).date() for minutes in (-10, 10)}  # the clocks may differ
    expect(known and known[-1] in near, "the latest entry is not today's", service.usage)
    gaps = [day for day, after in pairwise(known) if after - day != timedelta(days=1)]
    expect(not gaps, "between two entries a day is missing", service.usage)


@check(calls=1)
def resources_usage_remaining_is_the_headers(service: Subject) -> None:
    """`remaining` of today equals `X-RateLimit-Remaining`."""
    reply = _usage(service, 1)
    told, header = _count(_days(reply)[0], "remaining", reply), header_number(reply, "X-RateLimit-Remaining")
    expect(abs(told - header) <= _MOST_APART, f"remaining is {told:g}, X-RateLimit-Remaining {header}", reply)


@check(calls=2 * (4 + len(_COUNTED)))
def resources_usage_counts_each_call_once(service: Subject) -> None:
    """`used` of today grows by one with each keyed call."""

    def call_each() -> None:
        for operation, query in _COUNTED:
            success_members(service.wire.ask(operation, query=query))

    _expect_growth(service, call_each, 1 + len(_COUNTED))


@check(calls=2 * (4 + 2))
def limits_quota_counts_a_verification(service: Subject) -> None:
    """A verification raises `used` by two, for the slot and for `POST /verify`; the form to the slot has no key."""
    _expect_growth(service, lambda: service.verified(sounds.silence()), 1 + 2)


@check(calls=1 + 2 * (4 + 2))
def limits_quota_counts_reads_of_a_proof(service: Subject) -> None:
    """The record and the interpretation of a proof raise `used` by one each."""

    def read_both() -> None:
        for operation in (PROOF, INTERPRETATION):
            success_members(service.wire.ask(operation, proof_id=service.a_proof))

    _expect_growth(service, read_both, 1 + 2)


@check(calls=2)
def limits_reset_does_not_move(service: Subject) -> None:
    """`X-RateLimit-Reset` is a fixed time: it does not move while time passes."""
    first, second = service.moments[0][USAGE], service.moments[1][USAGE]
    for each in (first, second):
        success_members(each)
    moved = header_number(second, "X-RateLimit-Reset") - header_number(first, "X-RateLimit-Reset")
    is_a_new_month = moved > MOMENT_SECONDS + 1
    if not is_a_new_month:
        expect(abs(moved) <= 1, f"X-RateLimit-Reset moved by {moved} s in {MOMENT_SECONDS:.0f} s", first, second)


@check(calls=2)
def limits_headers_are_the_same_on_keys(service: Subject) -> None:
    """The list of keys tells the same quota and the same reset as usage."""
    success_members(service.inventory)
    usage = _usage(service, 1)
    for name in ("X-RateLimit-Limit", "X-RateLimit-Reset"):
        keys, told = header_number(service.inventory, name), header_number(usage, name)
        is_same = abs(keys - told) <= (name == "X-RateLimit-Reset")  # of the reset, a second may be rounded
        expect(is_same, f"{name} is {keys} on keys and {told} on usage", service.inventory, usage)


@check(calls=1)
def limits_remaining_is_within_the_limit(service: Subject) -> None:
    """`X-RateLimit-Remaining`, and `used` and `remaining` of today, are within the quota."""
    reply = _usage(service, 1)
    quota = number_of(object_of(success_members(reply), "plan", reply), "quotaLimit", reply)
    day = _days(reply)[0]
    told: dict[str, float] = {"X-RateLimit-Remaining": header_number(reply, "X-RateLimit-Remaining")}
    told |= {f"{name} of today": _count(day, name, reply) for name in ("used", "remaining")}
    for name, count in told.items():
        expect(count <= quota, f"{name} is {count:g}, more than the quota of {quota:g}", reply)


def _expect_growth(service: Subject, work: Callable[[], object], expected: int) -> None:
    """Expect that `used` of today grows so with some work and a usage; others may use the key, but not steadily."""
    idle, busy = [], []
    for _ in range(2):
        idle.append(_growth(service, lambda: None))
        busy.append(_growth(service, work))
    growth, before, after = busy[1]
    otherwise = f"{expected} calls raised used by {growth:g}"
    expect(growth >= expected, otherwise, before, after)
    is_steady = busy[0][0] == growth and idle[0][0] == idle[1][0]
    if growth != expected and not is_steady:
        raise NotTried("others use this key at the same time")
    expect(growth == expected, otherwise, before, after)


def _growth(service: Subject, work: Callable[[], object]) -> tuple[float, Reply, Reply]:
    """Return by how much `used` of today grew with some work and the second usage, and both usages."""
    before = _usage(service, 1)
    work()
    after = _usage(service, 1)
    if _days(before)[0].get("date") != _days(after)[0].get("date"):
        raise NotTried("a new day began during the check")
    return _count(_days(after)[0], "used", after) - _count(_days(before)[0], "used", before), before, after


def _usage(service: Subject, days: int) -> Reply:
    reply = service.wire.ask(USAGE, query={"days": str(days)})
    expect(_days(reply), "days is empty", reply)
    return reply


def _days(reply: Reply) -> list[dict[str, object]]:
    return [dict(day) for day in objects_of(success_members(reply), "days", reply)]


def _count(day: dict[str, object], name: str, reply: Reply) -> float:
    """Return a count of a day, which may be written as digits: the contract does not show the type."""
    value = day.get(name)
    is_digits = isinstance(value, str) and value.isascii() and value.isdigit()
    return float(str(value)) if is_digits else number_of(day, name, reply)


def _day_of(label: str) -> date | None:
    """Return the day that a label names; None if its form is not known."""
    for form in _DAY_FORMS:
        try:
            return datetime.strptime(label, form).date()  # noqa: DTZ007 - a day has no zone
        except ValueError:
            continue
    try:
        return datetime.fromisoformat(label).date()
    except ValueError:
        return None
