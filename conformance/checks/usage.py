"""GET /partner/usage, and the quota that it tells of."""

import time

from conformance.assertions import (
    expect,
    expect_quota_headers,
    expect_status,
    header_number,
    is_unique,
    number_of,
    object_of,
    objects_of,
    success_members,
    text_of,
)
from conformance.definition import check
from conformance.operations import KEYS, PROOFS, UPLOADS, USAGE, Operation
from conformance.replies import NotTried, Reply
from conformance.subject import Subject

_DAY = 86_400
_LONGEST_MONTH = 31 * _DAY
_COUNTED: tuple[tuple[Operation, dict[str, str]], ...] = (
    (KEYS, {}),
    (PROOFS, {"limit": "1"}),
    (UPLOADS, {"purpose": "verify"}),
)


@check(calls=1)
def endpoints_4_usage_tells_the_quota(service: Subject) -> None:
    """Usage carries the full trio of rate-limit headers."""
    success_members(service.usage)
    expect_quota_headers(service.usage)


@check(calls=1)
def resources_usage_plan(service: Subject) -> None:
    """`plan` tells the quota as a number and its period as a string."""
    plan = object_of(success_members(service.usage), "plan", service.usage)
    number_of(plan, "quotaLimit", service.usage)
    text_of(plan, "quotaPeriod", service.usage)


@check(calls=1)
def limits_limit_header_is_the_quota(service: Subject) -> None:
    """`X-RateLimit-Limit` is the monthly quota of the caller's plan."""
    quota = number_of(object_of(success_members(service.usage), "plan", service.usage), "quotaLimit", service.usage)
    told = header_number(service.usage, "X-RateLimit-Limit")
    expect(told == quota, f"X-RateLimit-Limit is {told}, plan.quotaLimit {quota:g}", service.usage)


@check(calls=1)
def limits_reset_is_when_the_month_ends(service: Subject) -> None:
    """`X-RateLimit-Reset` is the unix time, in seconds, at which the monthly window resets."""
    success_members(service.usage)
    ahead = header_number(service.usage, "X-RateLimit-Reset") - time.time()
    expect(-_DAY < ahead < _LONGEST_MONTH + _DAY, "X-RateLimit-Reset is no time within a month from now", service.usage)


@check(calls=1)
def resources_usage_days(service: Subject) -> None:
    """`days` has one entry for a UTC day, each with `date`, `used` and `remaining`."""
    days = _days(service.usage)
    expect(days, "there is no day in days", service.usage)
    for name in ("date", "used", "remaining"):
        expect(all(day.get(name) is not None for day in days), f"a day lacks {name}", service.usage)
    expect(is_unique(str(day["date"]) for day in days), "a day is there twice", service.usage)


@check(calls=1)
def resources_usage_counts(service: Subject) -> None:
    """`used` and `remaining` are counts."""
    for day in _days(service.usage):
        for name in ("used", "remaining"):
            expect(_is_count(day.get(name)), f"{name} of a day is no count", service.usage)


@check(calls=2)
def limits_usage_window_is_30_days_by_default(service: Subject) -> None:
    """Without `days` usage tells of the last 30 days."""
    asked = service.wire.ask(USAGE, query={"days": "30"})
    default, thirty = len(_days(service.usage)), len(_days(asked))
    expect(abs(default - thirty) <= 1, f"{default} days without days, {thirty} with days=30", service.usage, asked)


@check(calls=2)
def limits_usage_window_of_1_to_90_days(service: Subject) -> None:
    """Windows of 1 and of 90 days can be asked for; no more days are told of than were asked for."""
    for days in (1, 90):
        reply = service.wire.ask(USAGE, query={"days": str(days)})
        told = len(_days(reply))
        expect(told <= days, f"{told} days are told of with days={days}", reply)


@check(calls=4)
def limits_usage_window_out_of_bounds_is_400(service: Subject) -> None:
    """A window of 0 or 91 days, or of what is no whole number, is a malformed request: 400."""
    for days in ("0", "91", "-1", "many"):
        expect_status(service.wire.ask(USAGE, query={"days": days}), 400, f"with days={days}")


@check(calls=2)
def endpoints_4_remaining_is_live(service: Subject) -> None:
    """`X-RateLimit-Remaining` of usage is the live headroom: the call that asks for it is gone from it."""
    _expect_decline(service, _headroom(service), 1, "usage itself")


@check(calls=1 + 2 * len(_COUNTED))
def limits_quota_counts_keyed_operations(service: Subject) -> None:
    """The quota applies to all keyed operations: a listing of keys or proofs and a slot each take from it."""
    before = _headroom(service)
    for operation, query in _COUNTED:
        success_members(service.wire.ask(operation, query=query))
        before = _expect_decline(service, before, 2, str(operation))


def _headroom(service: Subject) -> Reply:
    reply = service.wire.ask(USAGE, query={"days": "1"})
    success_members(reply)
    return reply


def _expect_decline(service: Subject, before: Reply, calls: int, spent_on: str) -> Reply:
    """Complain unless the headroom went down by at least so many calls; another user of the key only adds to it."""
    after = _headroom(service)
    if header_number(after, "X-RateLimit-Reset") != header_number(before, "X-RateLimit-Reset"):
        raise NotTried("a new month has begun meanwhile")
    gone = header_number(before, "X-RateLimit-Remaining") - header_number(after, "X-RateLimit-Remaining")
    expect(gone >= calls, f"the headroom went down by {gone}, not {calls}, with {spent_on}", before, after)
    return after


def _days(reply: Reply) -> list[dict[str, object]]:
    return [dict(day) for day in objects_of(success_members(reply), "days", reply)]


def _is_count(value: object) -> bool:
    """Say whether a value is a count, be it written as a number or as a numeral: the exact type is not shown."""
    if isinstance(value, str):
        return value.isascii() and value.isdigit()
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 and value == int(value)
