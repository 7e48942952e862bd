"""GET /proofs/{proofId}, its asset and its interpretation, for its own tenant and for others."""

import base64
import binascii

from partner_conformance.assertions import expect, success_members, text_of, texts_in
from partner_conformance.definition import check
from partner_conformance.operations import ASSET, INTERPRETATION, PROOF
from partner_conformance.replies import NotTried, Reply, Violation
from partner_conformance.subject import MADE_UP, Subject

_AUDIO = (b"RIFF", b"RF64", b"BW64", b"FORM", b"caff", b"ID3", b"fLaC", b"OggS")
# Chosen: clients stop after two minutes (contract, Endpoints 9), so no client waits five times that; half a second in
# milliseconds is near it.
_LONGEST_POLL_SECONDS = 600


@check(calls=2)
def resources_proof_agrees_with_the_list(service: Subject) -> None:
    """A proof's record has the `song` and, where both tell it, the `classification` of the list."""
    members = success_members(service.record)
    listed = next((item for item in service.items if item.get("proofId") == service.a_proof), None)
    if listed is None:
        raise NotTried("the proof is not among this key's newest 100")
    for name in ("song", "classification"):
        is_same = name not in members or name not in listed or members[name] == listed[name]
        expect(is_same, f"{name} differs between the list and the record", service.listing, service.record)


@check(calls=2, needs=("sidecar_field",))
def resources_proof_sidecar_is_base64(service: Subject) -> None:
    """A proof's record has the sidecar in standard base64."""
    expect(_sidecar(service, service.record), "the sidecar is empty", service.record)


@check(calls=4, needs=("pair", "sidecar_field"))
def resources_proof_sidecar_is_as_issued(service: Subject) -> None:
    """The sidecar in a proof's record has exactly the issued bytes."""
    members = success_members(service.accepted_pair)
    record = service.wire.ask(PROOF, proof_id=text_of(members, "proofId", service.accepted_pair))
    if record.status == 404:  # noqa: PLR2004 - another tenant's
        raise NotTried("the pair's proof does not belong to this key")
    expect(_sidecar(service, record) == service.pair[1], "the sidecar differs from the pair's own", record)


@check(calls=2)
def resources_proof_holds_no_audio(service: Subject) -> None:
    """A proof's record contains no audio."""
    for text in texts_in(success_members(service.record)):
        head = text[:64] if len(text) > 1000 else ""  # noqa: PLR2004 - shorter text is no audio
        expect(not _decoded(head).startswith(_AUDIO), "a member of the record is audio in base64", service.record)


@check(calls=3)
def endpoints_6_unknown_proof_is_404(service: Subject) -> None:
    """An unknown proof, its asset and its interpretation are answered with 404."""
    service.expect_status(service.unknown_proof, 404, "of a made-up id")
    for operation in (ASSET, INTERPRETATION):
        service.expect_status(service.wire.ask(operation, proof_id=MADE_UP), 404, "of a made-up id")


@check(calls=4, needs=("other_key",))
def endpoints_6_other_tenants_proof_is_404(service: Subject) -> None:
    """Another tenant's proof is answered with 404; its asset and its interpretation are refused with 403 or 404."""
    for operation, statuses in ((PROOF, {404}), (ASSET, {403, 404}), (INTERPRETATION, {403, 404})):
        reply = service.wire.ask(operation, key=service.inputs.other_key, proof_id=service.a_proof)
        service.expect_status(reply, statuses, "of another tenant's proof")


@check(calls=1, needs=("pending_proof",))
def endpoints_9_a_pending_proof_has_an_interpretation(service: Subject) -> None:
    """The interpretation of a proof that is not issued yet is answered with 200, and a wait of ten minutes at most."""
    reply = service.wire.ask(INTERPRETATION, proof_id=service.inputs.pending_proof or "")
    wait = success_members(reply).get("retryAfterSeconds")
    is_long = isinstance(wait, int | float) and wait > _LONGEST_POLL_SECONDS
    expect(not is_long, f"retryAfterSeconds is {wait}", reply)


def _sidecar(service: Subject, record: Reply) -> bytes:
    encoded = text_of(success_members(record), service.inputs.sidecar_field or "", record)
    try:
        return base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        raise Violation("the sidecar is not in standard base64", (record,)) from None


def _decoded(text: str) -> bytes:
    """Decode possible base64; return no bytes if it is none."""
    try:
        return base64.b64decode(text)
    except (binascii.Error, ValueError):
        return b""
