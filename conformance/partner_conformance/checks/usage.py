"""GET /partner/usage: the plan, the days, what they count, and the quota's headers."""

import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

from partner_conformance import sounds
from partner_conformance.assertions import (
    expect,
    expect_quota_headers,
    header_number,
    is_unique,
    number_of,
    object_of,
    objects_of,
    success_members,
)
from partner_conformance.definition import check
from partner_conformance.operations import INTERPRETATION, KEYS, PROOF, PROOFS, USAGE
from partner_conformance.replies import NotTried, Reply
from partner_conformance.subject import MADE_UP, MOMENT_SECONDS, Subject

_DAY_SECONDS = 86_400
# The longest month, which bounds a monthly window.
_LONGEST_MONTH_SECONDS = 31 * _DAY_SECONDS
_WINDOWS = (1, 7, 30, 90)
# Out of bounds, no whole number, zeros before 91, and forty digits.
_NO_WINDOWS = ("0", "91", "-1", "many", "000091", "1.5", "5x", "9" * 40)
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


@check(calls=1)
def endpoints_4_usage_tells_the_quota(service: Subject) -> None:
    """Usage has all three rate-limit headers, and `X-RateLimit-Limit` equals the plan's `quotaLimit`."""
    members = success_members(service.usage)
    expect_quota_headers(service.usage)
    quota = number_of(object_of(members, "plan", service.usage), "quotaLimit", service.usage)
    limit = header_number(service.usage, "X-RateLimit-Limit")
    expect(limit == quota, f"X-RateLimit-Limit is {limit}, plan.quotaLimit {quota:g}", service.usage)


@check(calls=2)
def limits_reset_is_when_the_month_ends(service: Subject) -> None:
    """`X-RateLimit-Reset` is a fixed time in unix seconds, within a month from now."""
    first, second = (moment[USAGE] for moment in service.moments)
    for each in (first, second):
        success_members(each)
    ahead = header_number(second, "X-RateLimit-Reset") - time.time()
    is_near = -_DAY_SECONDS < ahead < _LONGEST_MONTH_SECONDS + _DAY_SECONDS
    expect(is_near, "X-RateLimit-Reset is not within a month from now", second)
    moved = header_number(second, "X-RateLimit-Reset") - header_number(first, "X-RateLimit-Reset")
    is_a_new_month = moved > MOMENT_SECONDS + 1
    if not is_a_new_month:
        expect(abs(moved) <= 1, f"X-RateLimit-Reset moved by {moved} s in {MOMENT_SECONDS:.0f} s", first, second)


@check(calls=2 + len(_WINDOWS))
def resources_usage_has_an_entry_for_each_day(service: Subject) -> None:
    """A window of n days has n entries, one for each UTC day; without `days` it is 30."""
    for window in _WINDOWS:
        reply = _usage(service, window)
        labels = [str(day.get("date")) for day in _days(reply)]
        expect(is_unique(labels), "one day is listed twice", reply)
        expect(len(labels) == window, f"there are {len(labels)} entries with days={window}", reply)
    today = _days(_usage(service, 1))[0]
    whole = service.wire.ask(USAGE)
    used = [_count(day, "used", whole) for day in _days(whole) if day.get("date") == today.get("date")]
    is_counted = not used or used[0] >= _count(today, "used", whole)
    expect(is_counted, "without days, fewer calls of today are counted", whole)
    default = len(_days(whole))
    expect(default == 30, f"there are {default} entries without days", whole)  # noqa: PLR2004 - contract, Limits


@check(calls=len(_NO_WINDOWS))
def limits_usage_window_out_of_bounds_is_400(service: Subject) -> None:
    """A window of 0, 91, -1 days, with a fraction, a letter or 40 digits is refused with 400."""
    for days in _NO_WINDOWS:
        service.expect_status(service.wire.ask(USAGE, query={"days": days}), 400, f"with days={days}")


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
    """`remaining` of today equals `X-RateLimit-Remaining`; neither it nor `used` is more than the quota."""
    reply = _usage(service, 1)
    day, header = _days(reply)[0], header_number(reply, "X-RateLimit-Remaining")
    quota = number_of(object_of(success_members(reply), "plan", reply), "quotaLimit", reply)
    used, told = _count(day, "used", reply), _count(day, "remaining", reply)
    expect(abs(told - header) <= _MOST_APART, f"remaining is {told:g}, X-RateLimit-Remaining {header}", reply)
    for name, count in {"used": used, "remaining": told, "X-RateLimit-Remaining": header}.items():
        expect(count <= quota, f"{name} is {count:g}, more than the quota of {quota:g}", reply)


@check(calls=2 * (4 + 8))
def limits_quota_counts_each_call_once(service: Subject) -> None:
    """Each keyed call, also a refused one, raises `used` by one and lowers the remaining quota; a form does not."""

    def work() -> None:
        for operation, query in ((KEYS, {"limit": "1"}), (PROOFS, {"limit": "1"}), (KEYS, {"limit": "0"})):
            service.wire.ask(operation, query=query)
        for operation in (PROOF, INTERPRETATION):
            service.wire.ask(operation, proof_id=service.inputs.proof or MADE_UP)
        service.verified(sounds.silence())

    growths = [_growth(service, is_busy=is_busy, work=work) for is_busy in (False, True, False, True)]
    (grown, calls, before, after), is_idle_steady = growths[3], growths[0][0] == growths[2][0]
    otherwise = f"{calls} calls raised used by {grown:g}"
    expect(grown >= calls, otherwise, before, after)
    if grown != calls and not (is_idle_steady and growths[1][0] == grown):
        raise NotTried("others use this key at the same time")
    expect(grown == calls, otherwise, before, after)
    if header_number(after, "X-RateLimit-Reset") == header_number(before, "X-RateLimit-Reset"):
        fallen = header_number(before, "X-RateLimit-Remaining") - header_number(after, "X-RateLimit-Remaining")
        expect(fallen >= calls, f"the remaining quota fell by {fallen} with {calls} calls", before, after)


@check(calls=2)
def endpoints_2_keys_tell_the_quota(service: Subject) -> None:
    """The list of keys has the three rate-limit headers, with the quota and the reset of usage."""
    success_members(service.inventory)
    expect_quota_headers(service.inventory)
    usage = _usage(service, 1)
    for name in ("X-RateLimit-Limit", "X-RateLimit-Reset"):
        keys, told = header_number(service.inventory, name), header_number(usage, name)
        is_same = abs(keys - told) <= (name == "X-RateLimit-Reset")  # of the reset, a second may be rounded
        expect(is_same, f"{name} is {keys} on keys and {told} on usage", service.inventory, usage)


def _growth(service: Subject, *, is_busy: bool, work: Callable[[], None]) -> tuple[float, int, Reply, Reply]:
    """Return by how much `used` of today grew, with how many calls, and both usages."""
    before, calls = _usage(service, 1), service.wire.calls_of("")
    if is_busy:
        work()
    after, calls = _usage(service, 1), service.wire.calls_of("") - calls
    if _days(before)[0].get("date") != _days(after)[0].get("date"):
        raise NotTried("a new day began during the check")
    return _count(_days(after)[0], "used", after) - _count(_days(before)[0], "used", before), calls, before, after


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
