"""Errors: their common body, and the headers of a 429."""

from conformance.assertions import expect, expect_api_error, expect_quota_headers, header_number
from conformance.definition import Risk, check
from conformance.operations import KEYS, USAGE
from conformance.replies import NotTried, Reply
from conformance.subject import Subject

# Chosen: calls in a row to cause a 429. Fewer may stay below the throttle; more use more of the quota.
_MOST_BURST = 600


@check(calls=2)
def errors_1_api_error_of_the_service(service: Subject) -> None:
    """An error of the service has `error` and `code`, both strings."""
    for reply in (service.bad_limit, service.unknown_proof):
        service.expect_status(reply, range(400, 500), "of a wrong call")
        expect_api_error(reply)


@check(calls=0)
def errors_1_api_error_of_the_gateway(service: Subject) -> None:
    """An error of the gateway, for a call without a key, has the same body."""
    service.expect_status(service.keyless, 403, "without a key")
    expect_api_error(service.keyless)


@check(calls=2)
def resources_api_error_code_is_stable(service: Subject) -> None:
    """`code` is stable: the same wrong call has the same code twice."""
    again = service.wire.ask(KEYS, query={"limit": "0"})
    first = service.bad_limit
    for reply in (first, again):
        service.expect_status(reply, range(400, 500), "with limit=0")
    expect(first.document.get("code") == again.document.get("code"), "the same call has two codes", first, again)


@check(calls=_MOST_BURST, shares="one burst", risk=Risk.SPENDS)
def errors_5_code_on_429(service: Subject) -> None:
    """The code of a 429 is `rate_limited`."""
    reply = _throttled(service)
    expect_api_error(reply)
    expect(reply.document.get("code") == "rate_limited", "the code of a 429 is not rate_limited", reply)


@check(calls=_MOST_BURST, shares="one burst", risk=Risk.SPENDS)
def errors_5_retry_after_on_429(service: Subject) -> None:
    """A 429 has `Retry-After` in whole seconds."""
    header_number(_throttled(service), "Retry-After")


@check(calls=_MOST_BURST, shares="one burst", risk=Risk.SPENDS)
def errors_5_quota_headers_on_429(service: Subject) -> None:
    """A 429 has the rate-limit headers."""
    expect_quota_headers(_throttled(service))


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
