"""Wrong requests: the service refuses them, and does not fail."""

from partner_conformance.assertions import expect, text_of
from partner_conformance.definition import check
from partner_conformance.operations import INTERPRETATION, PROOF, VERIFY
from partner_conformance.replies import Reply
from partner_conformance.subject import MADE_UP, Subject

_JSON = {"content-type": "application/json"}
_NO_BODIES = (b'{"uploadId": ', b"[]", b"null", b'"uploadId"', b"{}", b'{"uploadId": 7}', b'{"uploadId": null}')
# Contract, Endpoints 11: 400, 403, 429, "and further codes: not shown"; 403 and 429 say something else.
_REFUSALS = set(range(400, 500)) - {401, 403, 429}
# A quote ends a string in SQL; the rest must be percent-encoded in a path.
_ODD_IDS = ("it's", "ä b?c#d", "x" * 300)


@check(calls=len(_ODD_IDS) + 2)
def endpoints_6_odd_ids_are_unknown(service: Subject) -> None:
    """A proof id with unusual characters is an unknown one: refused with 404, or before that, and no failure."""
    for operation in (PROOF, INTERPRETATION):
        for odd in _ODD_IDS if operation is PROOF else _ODD_IDS[:1]:
            reply = service.wire.ask(operation, proof_id=f"{MADE_UP}-{odd}")
            service.expect_status(reply, range(400, 500), "of an id with unusual characters")


@check(calls=len(_NO_BODIES))
def endpoints_11_malformed_body_is_refused(service: Subject) -> None:
    """A body that is no JSON, no object, or lacks `uploadId` as a string, is refused with 400, or a code like 422."""
    for body in _NO_BODIES:
        reply = service.wire.ask(VERIFY, body=body, headers=_JSON)
        service.expect_status(reply, _REFUSALS, f"with the body {body.decode()}")


@check(calls=10)
def endpoints_11_unknown_upload_is_not_good(service: Subject) -> None:
    """An `uploadId` that never was, is empty, very long, or of an unfilled slot, is not verified as good."""
    for upload_id in (MADE_UP, "", "../" * 300, service.slot.upload_id):
        _expect_no_success(service, service.verify(upload_id), "of an unknown upload")
    if service.inputs.pair is not None and service.inputs.sidecar_field is not None:
        reply = service.verify(service.slot.upload_id, service.pair[1])
        _expect_no_success(service, reply, "of an empty slot with a sidecar")


@check(calls=6, needs=("sidecar_field",))
def endpoints_11_sidecar_is_base64(service: Subject) -> None:
    """A sidecar that is a number, or no base64, is refused or not accepted, and no failure."""
    for wrong in (7, "***", "a"):
        body = {"uploadId": service.unreadable[1], str(service.inputs.sidecar_field): wrong}
        _expect_no_success(service, service.wire.ask(VERIFY, body=body), "with a sidecar that is no base64")


def _expect_no_success(service: Subject, reply: Reply, occasion: str) -> None:
    """Expect a refusal, or an answer that is not good: the contract does not show which."""
    service.expect_status(reply, {VERIFY.success, *range(400, 500)}, occasion)
    if reply.status == VERIFY.success:
        expect(reply.members.get("good") is False, f"{reply.operation} {occasion} has no good that is false", reply)
        text_of(reply.members, "verdict", reply)
