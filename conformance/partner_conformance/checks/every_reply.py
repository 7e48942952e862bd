"""Rules for every reply: these checks run last, over all replies so far."""

from collections.abc import Callable

from partner_conformance.assertions import expect, expect_api_error, is_unique
from partner_conformance.checks.errors import expect_throttled
from partner_conformance.checks.members import expect_members, times_in
from partner_conformance.definition import Check, check, made_of
from partner_conformance.operations import HEALTH, ROTATE
from partner_conformance.replies import NotTried, Reply
from partner_conformance.subject import Subject

# The keyed calls in `_all`: no more are made if earlier checks made them already.
_CALLS = 8
_NO_ANSWERS = {502, 503, 504}


def _of_each(rule: Callable[[Reply], str]) -> Check:
    """Make a check of a rule that says what is wrong with a reply; nothing if it is right."""

    def run(service: Subject) -> None:
        for reply in _all(service):
            said = rule(reply)
            expect(not said, f"{reply.operation} answered {reply.status} {said}", reply)

    return made_of(run, rule.__name__, (rule.__doc__ or "").strip(), calls=_CALLS)


@_of_each
def errors_7_request_id_on_every_response(reply: Reply) -> str:
    """Every response, success or failure, has `X-Request-Id`, and the same ID in `x-amzn-requestid`."""
    ids = [reply.headers.get(name) for name in ("X-Request-Id", "x-amzn-requestid")]
    return "" if ids[0] and ids[0] == ids[1] else "with another x-amzn-requestid" if ids[0] else "without X-Request-Id"


@_of_each
def resources_every_reply_has_its_members(reply: Reply) -> str:
    """Every success has its members with their types, also on later pages and after an action."""
    if reply.status == reply.operation.success:
        expect_members(reply)
    return ""


@_of_each
def resources_every_timestamp_is_seconds(reply: Reply) -> str:
    """Every timestamp, wherever it is, is unix time in whole seconds."""
    wrong = (name for name, value in times_in(reply.members) if value is not None and type(value) is not int)
    return "".join(f"with {name} that is no whole number" for name in list(wrong)[:1])


@_of_each
def errors_2_code_is_a_slug(reply: Reply) -> str:
    """`code` is a stable slug: it has no white space and is not the message."""
    code = reply.members.get("code") if reply.is_error else None
    is_text = isinstance(code, str) and (not code or any(each.isspace() for each in code))
    return "with a text as its code, not a slug" if is_text else ""


@_of_each
def errors_1_every_error_is_an_api_error(reply: Reply) -> str:
    """Every error, of the service and of the gateway, has the body of an ApiError."""
    if reply.is_error:
        expect_api_error(reply)
    return ""


@_of_each
def endpoints_all_return_json(reply: Reply) -> str:
    """Every response is JSON, and its content type says so."""
    kind = (reply.headers.get("Content-Type") or "").partition(";")[0].strip().lower()
    is_json = kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))
    _ = reply.document
    return "" if is_json else f"as {kind[:60] or 'nothing'}"


@_of_each
def endpoints_answer_with_documented_statuses(reply: Reply) -> str:
    """Every response has a status that the contract lists for its endpoint."""
    is_listed = not reply.operation.statuses or reply.status in reply.operation.statuses
    return "" if is_listed else "which is not listed for it"


@check(calls=_CALLS)
def errors_7_request_ids_differ(service: Subject) -> None:
    """Each call has a request ID of its own; health may be cached, and a replay may repeat the first answer."""
    told = [reply for reply in _all(service) if reply.operation not in (HEALTH, ROTATE) and reply.request_id]
    ids = [reply.request_id for reply in told]
    expect(
        is_unique(ids), "two calls have the same request ID", *(each for each in told if ids.count(each.request_id) > 1)
    )


@check(calls=_CALLS)
def authentication_1_no_answer_holds_a_key(service: Subject) -> None:
    """No answer but that of a rotation contains the secret of a key."""
    secrets = [*service.wire.real_keys, *service.new_secrets]
    for reply in _all(service):
        is_rotated = reply.operation is ROTATE and reply.status == ROTATE.success
        text = reply.body + b"".join(value.encode() for value in reply.headers.values())
        is_told = not is_rotated and any(secret.encode() in text for secret in secrets)
        expect(not is_told, f"{reply.operation} answered {reply.status} with the secret of a key", reply)


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
    for name in (
        "health",
        "keyless",
        "inventory",
        "usage",
        "listing",
        "unknown_proof",
        "bad_limit",
        "slot",
        "unreadable",
    ):
        getattr(service, name)
    return [reply for reply in service.wire.replies if reply.status not in _NO_ANSWERS]
