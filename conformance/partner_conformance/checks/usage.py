"""GET /partner/usage and the quota."""

import time

from partner_conformance.assertions import (
    expect,
    expect_quota_headers,
    header_number,
    is_unique,
    number_of,
    object_of,
    objects_of,
    success_members,
    text_of,
)
from partner_conformance.definition import check
from partner_conformance.operations import KEYS, PROOFS, UPLOADS, USAGE, Operation
from partner_conformance.replies import NotTried, Reply
from partner_conformance.subject import Subject

_DAY_SECONDS = 86_400
# The longest month, which bounds a monthly window.
_LONGEST_MONTH_SECONDS = 31 * _DAY_SECONDS
_COUNTED: tuple[tuple[Operation, dict[str, str]], ...] = (
    (KEYS, {}),
    (PROOFS, {"limit": "1"}),
    (UPLOADS, {"purpose": "verify"}),
)


@check(calls=1)
def endpoints_4_usage_tells_the_quota(service: Subject) -> None:
    """Usage has all three rate-limit headers."""
    success_members(service.usage)
    expect_quota_headers(service.usage)


@check(calls=1)
def resources_usage_plan(service: Subject) -> None:
    """`plan` has `quotaLimit` (a number) and `quotaPeriod` (a string)."""
    plan = object_of(success_members(service.usage), "plan", service.usage)
    number_of(plan, "quotaLimit", service.usage)
    text_of(plan, "quotaPeriod", service.usage)


@check(calls=1)
def limits_limit_header_is_the_quota(service: Subject) -> None:
    """`X-RateLimit-Limit` equals the plan's `quotaLimit`."""
    quota = number_of(object_of(success_members(service.usage), "plan", service.usage), "quotaLimit", service.usage)
    limit = header_number(service.usage, "X-RateLimit-Limit")
    expect(limit == quota, f"X-RateLimit-Limit is {limit}, plan.quotaLimit {quota:g}", service.usage)


@check(calls=1)
def limits_reset_is_when_the_month_ends(service: Subject) -> None:
    """`X-RateLimit-Reset` is unix time in seconds, within a month from now."""
    success_members(service.usage)
    ahead = header_number(service.usage, "X-RateLimit-Reset") - time.time()
    expect(
        -_DAY_SECONDS < ahead < _LONGEST_MONTH_SECONDS + _DAY_SECONDS,
        "X-RateLimit-Reset is not within a month from now",
        service.usage,
    )


@check(calls=1)
def resources_usage_days(service: Subject) -> None:
    """`days` has one entry per day, each with `date`, `used` and `remaining`."""
    days = _days(service.usage)
    expect(days, "days is empty", service.usage)
    for name in ("date", "used", "remaining"):
        expect(all(day.get(name) is not None for day in days), f"a day lacks {name}", service.usage)
    expect(is_unique(str(day["date"]) for day in days), "one day is listed twice", service.usage)


@check(calls=1)
def resources_usage_counts(service: Subject) -> None:
    """`used` and `remaining` are counts, written as numbers or as digits."""
    for day in _days(service.usage):
        for name in ("used", "remaining"):
            expect(_is_count(day.get(name)), f"{name} of a day is not a count", service.usage)


@check(calls=2)
def limits_usage_window_is_30_days_by_default(service: Subject) -> None:
    """Without `days` usage has as many days as with `days=30`."""
    asked = service.wire.ask(USAGE, query={"days": "30"})
    default, thirty = len(_days(service.usage)), len(_days(asked))
    expect(abs(default - thirty) <= 1, f"{default} entries without days, {thirty} with days=30", service.usage, asked)


@check(calls=2)
def limits_usage_window_of_1_to_90_days(service: Subject) -> None:
    """A window of 1 and of 90 days is accepted; the answer has at most so many days."""
    for days in (1, 90):
        reply = service.wire.ask(USAGE, query={"days": str(days)})
        count = len(_days(reply))
        expect(count <= days, f"there are {count} entries with days={days}", reply)


@check(calls=4)
def limits_usage_window_out_of_bounds_is_400(service: Subject) -> None:
    """A window of 0, 91, -1 days or a word is refused with 400."""
    for days in ("0", "91", "-1", "many"):
        service.expect_status(service.wire.ask(USAGE, query={"days": days}), 400, f"with days={days}")


@check(calls=2)
def endpoints_4_remaining_is_live(service: Subject) -> None:
    """`X-RateLimit-Remaining` of usage is live: each call of usage lowers it."""
    _expect_decline(service, _remaining(service), 1, "usage itself")


@check(calls=1 + 2 * len(_COUNTED))
def limits_quota_counts_keyed_operations(service: Subject) -> None:
    """Lists of keys, lists of proofs and new slots each lower the remaining quota."""
    before = _remaining(service)
    for operation, query in _COUNTED:
        success_members(service.wire.ask(operation, query=query))
        before = _expect_decline(service, before, 2, str(operation))


def _remaining(service: Subject) -> Reply:
    reply = service.wire.ask(USAGE, query={"days": "1"})
    success_members(reply)
    return reply


def _expect_decline(service: Subject, before: Reply, calls: int, spent_on: str) -> Reply:
    """Expect that the remaining quota fell by at least `calls`; other users of the key can only lower it more."""
    after = _remaining(service)
    if header_number(after, "X-RateLimit-Reset") != header_number(before, "X-RateLimit-Reset"):
        raise NotTried("a new month began during the check")
    gone = header_number(before, "X-RateLimit-Remaining") - header_number(after, "X-RateLimit-Remaining")
    expect(gone >= calls, f"the remaining quota fell by {gone}, not {calls}, with {spent_on}", before, after)
    return after


def _days(reply: Reply) -> list[dict[str, object]]:
    return [dict(day) for day in objects_of(success_members(reply), "days", reply)]


def _is_count(value: object) -> bool:
    """Return whether a value is a count, as a number or as digits: the contract does not show the type."""
    if isinstance(value, str):
        return value.isascii() and value.isdigit()
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 and value == int(value)
