"""What holds for every reply: looked at last, over all that came."""

from conformance.assertions import expect, expect_quota_headers, header_number
from conformance.definition import check
from conformance.replies import NotTried, Reply
from conformance.subject import Subject

_CALLS = 8
_THROTTLED = 429


@check(calls=_CALLS)
def errors_7_request_id_on_every_response(service: Subject) -> None:
    """Every response, success or failure, carries `X-Request-Id`."""
    for reply in _all(service):
        expect(reply.headers.get("X-Request-Id"), f"{reply.operation} answered {reply.status} without one", reply)


@check(calls=_CALLS)
def errors_7_amzn_request_id_is_the_same(service: Subject) -> None:
    """The request ID is also exposed as `x-amzn-requestid`."""
    for reply in _all(service):
        told = f"{reply.operation} answered {reply.status} with another x-amzn-requestid, or none"
        expect(reply.headers.get("x-amzn-requestid") == reply.headers.get("X-Request-Id"), told, reply)


@check(calls=_CALLS)
def errors_1_every_error_is_an_api_error(service: Subject) -> None:
    """Every error, whichever call it came from, has the body of an ApiError."""
    for reply in _all(service):
        if reply.status >= 400:  # noqa: PLR2004 - HTTP's errors
            has_both = all(isinstance(reply.document.get(name), str) for name in ("error", "code"))
            expect(has_both, f"{reply.operation} answered {reply.status} without error and code", reply)


@check(calls=_CALLS)
def endpoints_all_return_json(service: Subject) -> None:
    """All endpoints return JSON, and say so."""
    for reply in _all(service):
        kind = (reply.headers.get("Content-Type") or "").partition(";")[0].strip().lower()
        is_json = kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))
        expect(is_json, f"{reply.operation} answered {reply.status} as {kind[:60] or 'nothing'}", reply)
        _ = reply.document


@check(calls=_CALLS)
def endpoints_answer_with_documented_statuses(service: Subject) -> None:
    """An endpoint answers with the statuses that are listed for it."""
    for reply in _all(service):
        is_listed = not reply.operation.statuses or reply.status in reply.operation.statuses
        expect(is_listed, f"{reply.operation} answered {reply.status}, which is not listed for it", reply)


@check(calls=0)
def errors_5_429s_that_were_met(service: Subject) -> None:
    """Each 429 has the code `rate_limited`, `Retry-After` and the quota's headers; looked at where one was met."""
    met = [reply for reply in service.wire.replies if reply.status == _THROTTLED]
    if not met:
        raise NotTried("no call was throttled; name the errors-5 checks to bring it about")
    for reply in met:
        expect(reply.document.get("code") == "rate_limited", "the code of a 429 is not rate_limited", reply)
        header_number(reply, "Retry-After")
        expect_quota_headers(reply)


def _all(service: Subject) -> list[Reply]:
    """Give all replies so far, with at least one of each kind that needs nothing."""
    _ = (
        service.health,
        service.keyless,
        service.inventory,
        service.usage,
        service.listing,
        service.unknown_proof,
        service.bad_limit,
        service.slot,
        service.unreadable,
    )
    return service.wire.replies
