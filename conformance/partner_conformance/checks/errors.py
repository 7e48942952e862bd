"""Errors: their common body, and the headers of a 429."""

from partner_conformance.assertions import expect, expect_api_error, expect_quota_headers, header_number
from partner_conformance.definition import Risk, check
from partner_conformance.operations import KEYS, USAGE
from partner_conformance.replies import NotTried, Reply, Violation
from partner_conformance.subject import SHARED_CALLS, Subject

_MOST_BURST = SHARED_CALLS["one burst"]
# Chosen: rounding may make one wait a second too short.
_MOST_WAITS = 3
_LONGEST_WAIT_SECONDS = 60
# Chosen: a lane that is free again in half a second tells no wait of eight minutes.
_MANY_SECONDS = 500


@check(calls=2)
def resources_api_error_code_is_stable(service: Subject) -> None:
    """`code` is stable: the same wrong call has the same code twice."""
    again = service.wire.ask(KEYS, query={"limit": "0"})
    first = service.bad_limit
    for reply in (first, again):
        service.expect_status(reply, range(400, 500), "with limit=0")
    expect(first.document.get("code") == again.document.get("code"), "the same call has two codes", first, again)


@check(shares="one burst", risk=Risk.SPENDS)
def errors_5_a_429_tells_what_to_do(service: Subject) -> None:
    """A 429 has the code `rate_limited`, `Retry-After` in whole seconds, and the rate-limit headers."""
    expect_throttled(_throttled(service))


@check(calls=3, shares="one burst", risk=Risk.SPENDS)
def errors_5_retry_after_is_enough(service: Subject) -> None:
    """After the wait that a 429 tells, a call is accepted; at the third time at the latest."""
    reply = _throttled(service)
    for _ in range(_MOST_WAITS):
        told = reply.told_wait_seconds or 0.0
        if told > _LONGEST_WAIT_SECONDS:
            raise NotTried(f"the service says to wait {told:.0f} s")
        service.wire.wait(told)
        reply = service.wire.ask(USAGE, query={"days": "1"}, waits=False)
        if not reply.is_throttled:
            return
    raise Violation(f"after {_MOST_WAITS} waits as long as Retry-After says, calls are still refused", (reply,))


@check(calls=1, shares="one burst", risk=Risk.SPENDS)
def errors_5_retry_after_is_in_seconds(service: Subject) -> None:
    """`Retry-After` is in seconds: a wait of many minutes is not over after its thousandth part."""
    reply = _throttled(service)
    told = reply.told_wait_seconds or 0.0
    if told < _MANY_SECONDS:
        return
    if told > 1_000 * _LONGEST_WAIT_SECONDS:
        raise NotTried(f"the service says to wait {told:.0f} s")
    service.wire.wait(told / 1_000)
    after = service.wire.ask(USAGE, query={"days": "1"}, waits=False)
    said = f"Retry-After is {told:.0f}, and after {told / 1_000:.1f} s calls are accepted"
    expect(after.is_throttled, said, reply, after)


def expect_throttled(reply: Reply) -> None:
    """Expect what the contract promises of a 429."""
    expect_api_error(reply)
    expect(reply.document.get("code") == "rate_limited", "the code of a 429 is not rate_limited", reply)
    header_number(reply, "Retry-After")
    expect_quota_headers(reply)


def _throttled(service: Subject) -> Reply:
    """Return an earlier 429, or cause one; all checks share one burst."""
    met = [reply for reply in service.wire.replies if reply.is_throttled]
    while not met and service.burst_calls < _MOST_BURST:
        service.burst_calls += 1
        reply = service.wire.ask(USAGE, query={"days": "1"}, waits=False)
        met = [reply] if reply.is_throttled else []
    if not met:
        raise NotTried(f"{_MOST_BURST} calls in a row were not throttled")
    return met[0]
