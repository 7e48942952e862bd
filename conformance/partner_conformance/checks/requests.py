"""Wrong requests: the service refuses them, and does not fail."""

from partner_conformance.assertions import expect, text_of
from partner_conformance.definition import check
from partner_conformance.operations import INTERPRETATION, KEYS, PROOF, PROOFS, USAGE, VERIFY, Operation
from partner_conformance.replies import Reply
from partner_conformance.subject import MADE_UP, Subject

# Numbers out of bounds with leading zeros, a fraction, a number with a letter, and one of forty digits.
_NO_LIMITS = ("0000000101", "1.5", "5x", "9" * 40)
_NO_WINDOWS = ("000091", "1.5", "5x", "9" * 40)
_JSON = {"content-type": "application/json"}
# A quote ends a string in SQL; the rest must be percent-encoded in a path.
_ODD_IDS = ("it's", "ä b?c#d", "x" * 300)


@check(calls=len(_NO_LIMITS))
def limits_page_of_keys_is_a_whole_number(service: Subject) -> None:
    """For keys, a `limit` with a fraction, a letter, zeros before 101 or 40 digits is refused with 400."""
    _expect_400(service, KEYS, "limit", _NO_LIMITS)


@check(calls=len(_NO_LIMITS))
def limits_page_of_proofs_is_a_whole_number(service: Subject) -> None:
    """For proofs, a `limit` with a fraction, a letter, zeros before 101 or 40 digits is refused with 400."""
    _expect_400(service, PROOFS, "limit", _NO_LIMITS)


@check(calls=len(_NO_WINDOWS))
def limits_usage_window_is_a_whole_number(service: Subject) -> None:
    """A window with a fraction, a letter, zeros before 91 or 40 digits is refused with 400."""
    _expect_400(service, USAGE, "days", _NO_WINDOWS)


@check(calls=len(_ODD_IDS) + 2)
def endpoints_6_odd_ids_are_unknown(service: Subject) -> None:
    """A proof id with unusual characters is an unknown one: refused with 404, or before that, and no failure."""
    for operation in (PROOF, INTERPRETATION):
        for odd in _ODD_IDS if operation is PROOF else _ODD_IDS[:1]:
            reply = service.wire.ask(operation, proof_id=f"{MADE_UP}-{odd}")
            service.expect_status(reply, range(400, 500), "of an id with unusual characters")


@check(calls=2)
def endpoints_5_odd_cursor_is_no_failure(service: Subject) -> None:
    """A cursor with unusual characters is answered with a page or with 400, for both lists."""
    for operation in (KEYS, PROOFS):
        reply = service.wire.ask(operation, query={"cursor": "%zz='ä|{}"})
        service.expect_status(reply, {200, 400}, "with an unusual cursor")


@check(calls=5)
def endpoints_11_body_is_an_object(service: Subject) -> None:
    """A body of `POST /verify` that is JSON and no object is refused with 400."""
    for body in (b"[]", b"null", b'"uploadId"'):
        reply = service.wire.ask(VERIFY, body=body, headers=_JSON)
        service.expect_status(reply, 400, f"with the body {body.decode()}")


@check(calls=5)
def endpoints_11_unknown_upload_is_not_good(service: Subject) -> None:
    """An `uploadId` that never was, is empty or is very long is not verified as good, and no failure."""
    for upload_id in (MADE_UP, "", "../" * 300):
        _expect_no_success(service, service.verify(upload_id), "of an unknown upload")


@check(calls=4)
def endpoints_11_empty_slot_is_not_good(service: Subject) -> None:
    """A slot that nobody has filled is not verified as good, and no failure."""
    _expect_no_success(service, service.verify(service.slot.upload_id), "of an empty slot")


@check(calls=4, needs=("pair", "sidecar_field"))
def endpoints_11_sidecar_alone_is_not_good(service: Subject) -> None:
    """A slot that nobody has filled is not verified as good with a sidecar either."""
    reply = service.verify(service.slot.upload_id, service.pair[1])
    _expect_no_success(service, reply, "of an empty slot with a sidecar")


@check(calls=6, needs=("sidecar_field",))
def endpoints_11_sidecar_is_base64(service: Subject) -> None:
    """A sidecar that is a number, or no base64, is refused or not accepted, and no failure."""
    for wrong in (7, "***", "a"):
        body = {"uploadId": service.unreadable[1], str(service.inputs.sidecar_field): wrong}
        _expect_no_success(service, service.wire.ask(VERIFY, body=body), "with a sidecar that is no base64")


def _expect_400(service: Subject, operation: Operation, name: str, values: tuple[str, ...]) -> None:
    for value in values:
        reply = service.wire.ask(operation, query={name: value})
        service.expect_status(reply, 400, f"with {name}={value}")


def _expect_no_success(service: Subject, reply: Reply, occasion: str) -> None:
    """Expect a refusal, or an answer that is not good: the contract does not show which."""
    service.expect_status(reply, {VERIFY.success, *range(400, 500)}, occasion)
    if reply.status == VERIFY.success:
        expect(reply.members.get("good") is False, f"{reply.operation} {occasion} has no good that is false", reply)
        text_of(reply.members, "verdict", reply)
