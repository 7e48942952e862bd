"""Rules for every reply: these checks run last, over all replies so far."""

from partner_conformance.assertions import expect, expect_api_error, is_unique
from partner_conformance.checks.errors import expect_throttled
from partner_conformance.definition import check
from partner_conformance.operations import HEALTH, ROTATE
from partner_conformance.replies import NotTried, Reply
from partner_conformance.subject import Subject

# The keyed calls in `_all`: no more are made if earlier checks made them already.
_CALLS = 8
_NO_ANSWERS = {502, 503, 504}


@check(calls=_CALLS)
def errors_7_request_id_on_every_response(service: Subject) -> None:
    """Every response, success or failure, has `X-Request-Id`."""
    for reply in _all(service):
        expect(reply.headers.get("X-Request-Id"), f"{reply.operation} answered {reply.status} without one", reply)


@check(calls=_CALLS)
def errors_7_amzn_request_id_is_the_same(service: Subject) -> None:
    """Every response has the same request ID in `x-amzn-requestid`."""
    for reply in _all(service):
        otherwise = f"{reply.operation} answered {reply.status} with another x-amzn-requestid, or none"
        expect(reply.headers.get("x-amzn-requestid") == reply.headers.get("X-Request-Id"), otherwise, reply)


@check(calls=_CALLS)
def errors_7_request_ids_differ(service: Subject) -> None:
    """Each call has a request ID of its own; health may be cached, and a replay may repeat the first answer."""
    told = [reply for reply in _all(service) if reply.operation not in (HEALTH, ROTATE) and reply.request_id]
    ids = [reply.request_id for reply in told]
    expect(
        is_unique(ids), "two calls have the same request ID", *(each for each in told if ids.count(each.request_id) > 1)
    )


@check(calls=_CALLS)
def errors_2_code_is_a_slug(service: Subject) -> None:
    """`code` is a stable slug: it has no white space and is not the message."""
    for reply in _all(service):
        code = reply.members.get("code")
        if reply.is_error and isinstance(code, str):
            expect(code and not any(each.isspace() for each in code), "code is a text, not a slug", reply)


@check(calls=_CALLS)
def authentication_1_no_answer_holds_a_key(service: Subject) -> None:
    """No answer but that of a rotation contains the secret of a key."""
    secrets = [*service.wire.real_keys, *service.new_secrets]
    for reply in _all(service):
        is_rotated = reply.operation is ROTATE and reply.status == ROTATE.success
        text = reply.body + b"".join(value.encode() for value in reply.headers.values())
        is_told = not is_rotated and any(secret.encode() in text for secret in secrets)
        expect(not is_told, f"{reply.operation} answered {reply.status} with the secret of a key", reply)


@check(calls=_CALLS)
def errors_1_every_error_is_an_api_error(service: Subject) -> None:
    """Every error has the body of an ApiError."""
    for reply in _all(service):
        if reply.is_error:
            expect_api_error(reply)


@check(calls=_CALLS)
def endpoints_all_return_json(service: Subject) -> None:
    """Every response is JSON, and its content type says so."""
    for reply in _all(service):
        kind = (reply.headers.get("Content-Type") or "").partition(";")[0].strip().lower()
        is_json = kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))
        expect(is_json, f"{reply.operation} answered {reply.status} as {kind[:60] or 'nothing'}", reply)
        _ = reply.document


@check(calls=_CALLS)
def endpoints_answer_with_documented_statuses(service: Subject) -> None:
    """Every response has a status that the contract lists for its endpoint."""
    for reply in _all(service):
        is_listed = not reply.operation.statuses or reply.status in reply.operation.statuses
        expect(is_listed, f"{reply.operation} answered {reply.status}, which is not listed for it", reply)


@check(calls=0)
def errors_5_429s_that_were_met(service: Subject) -> None:
    """Every 429 so far has the code `rate_limited`, `Retry-After` and the rate-limit headers."""
    met = [reply for reply in service.wire.replies if reply.is_throttled]
    if not met:
        raise NotTried("no call was throttled; name the errors-5 checks to cause it")
    for reply in met:
        expect_throttled(reply)


def _all(service: Subject) -> list[Reply]:
    """Return all replies so far, with at least one of each call that needs no input.

    A 502, 503 or 504 comes from a proxy or a balancer before the service, and is no answer.
    """
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
    return [reply for reply in service.wire.replies if reply.status not in _NO_ANSWERS]
