"""GET /proofs/{proofId}, its asset and its interpretation, for its own tenant and for others."""

import base64
import binascii

from partner_conformance.assertions import expect, links_in, success_members, text_of, texts_in
from partner_conformance.definition import check
from partner_conformance.operations import ASSET, INTERPRETATION, PROOF
from partner_conformance.replies import NotTried, Reply, Violation
from partner_conformance.sounds import is_wav
from partner_conformance.subject import MADE_UP, MOST_POLLS, Subject

_AUDIO = (b"RIFF", b"RF64", b"BW64", b"FORM", b"caff", b"ID3", b"fLaC", b"OggS")
# Chosen: clients stop after two minutes (contract, Endpoints 9), so no client waits five times that; half a second in
# milliseconds is near it.
_LONGEST_POLL_SECONDS = 600
_NOTE_STATUSES = ("pending", "ready", "unavailable")


@check(calls=2)
def resources_proof_display_fields(service: Subject) -> None:
    """A proof's record has `song`; an optional `classification` is a string."""
    members = success_members(service.record)
    expect(isinstance(members.get("song"), str), "song of a proof is not a string", service.record)
    if "classification" in members:
        text_of(members, "classification", service.record)


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


@check(calls=1)
def endpoints_6_unknown_proof_is_404(service: Subject) -> None:
    """An unknown proof is answered with 404."""
    service.expect_status(service.unknown_proof, 404, "of a made-up id")


@check(calls=2, needs=("other_key",))
def endpoints_6_other_tenants_proof_is_404(service: Subject) -> None:
    """Another tenant's proof is answered with 404."""
    reply = service.wire.ask(PROOF, key=service.inputs.other_key, proof_id=service.a_proof)
    service.expect_status(reply, 404, "of another tenant's proof")


@check(calls=1)
def endpoints_8_unknown_asset_is_404(service: Subject) -> None:
    """The asset of an unknown proof is answered with 404."""
    service.expect_status(service.wire.ask(ASSET, proof_id=MADE_UP), 404, "of a made-up id")


@check(calls=3, needs=("other_key",))
def endpoints_8_other_tenants_asset_is_not_given(service: Subject) -> None:
    """The asset of another tenant's proof is refused with 403 or 404."""
    if service.wire.ask(ASSET, proof_id=service.a_proof).status == 404:  # noqa: PLR2004 - there is none
        raise NotTried("the proof has no one-file artifact; name another one with --proof")
    reply = service.wire.ask(ASSET, key=service.inputs.other_key, proof_id=service.a_proof)
    service.expect_status(reply, {403, 404}, "of another tenant's proof")


@check(calls=4, needs=("one_file",))
def resources_asset_downloads_without_a_key(service: Subject) -> None:
    """The asset's answer has a URL that returns the one-file audio without a key."""
    proof_id = text_of(success_members(service.accepted), "proofId", service.accepted)
    reply = service.wire.ask(ASSET, proof_id=proof_id)
    if reply.status == 404 and service.wire.ask(PROOF, proof_id=proof_id).status == 404:  # noqa: PLR2004 - another tenant's
        raise NotTried("the one file's proof does not belong to this key")
    links = links_in(success_members(reply))
    expect(links, "no member of the answer is a URL", reply)
    answers = [service.wire.elsewhere.download(link) for link in links]
    said = " and ".join(str(status) for status, _ in answers)
    expect(any(is_wav(audio) for _, audio in answers), f"no link returns a WAV; answered with {said}", reply)


@check(calls=1)
def endpoints_9_unknown_interpretation_is_404(service: Subject) -> None:
    """The interpretation of an unknown proof is answered with 404."""
    service.expect_status(service.wire.ask(INTERPRETATION, proof_id=MADE_UP), 404, "of a made-up id")


@check(calls=1, needs=("pending_proof",))
def endpoints_9_a_pending_proof_has_an_interpretation(service: Subject) -> None:
    """The interpretation of a proof that is not issued yet is answered with 200: only an unknown proof is 404."""
    success_members(service.wire.ask(INTERPRETATION, proof_id=service.inputs.pending_proof or ""))


@check(calls=1 + MOST_POLLS)
def endpoints_9_a_known_proof_has_an_interpretation(service: Subject) -> None:
    """The interpretation of an existing proof is answered with 200, in every state."""
    success_members(service.note)


@check(calls=1, needs=("pending_proof",))
def endpoints_9_a_pending_interpretation_is_polled_shortly(service: Subject) -> None:
    """`retryAfterSeconds` of a pending interpretation is a short wait in seconds: not beyond ten minutes."""
    reply = service.wire.ask(INTERPRETATION, proof_id=service.inputs.pending_proof or "")
    wait = success_members(reply).get("retryAfterSeconds")
    is_long = isinstance(wait, int | float) and wait > _LONGEST_POLL_SECONDS
    expect(not is_long, f"retryAfterSeconds is {wait}", reply)


@check(calls=1 + MOST_POLLS)
def resources_interpretation_fields(service: Subject) -> None:
    """An interpretation has a known `status`, a `text` if ready, and valid optional members."""
    reply = service.note
    members = success_members(reply)
    status = text_of(members, "status", reply)
    expect(status in _NOTE_STATUSES, f"status is {status[:40]!r}", reply)
    if status == "ready":
        text_of(members, "text", reply)
    wait = members.get("retryAfterSeconds", 0)
    is_wait = isinstance(wait, int) and not isinstance(wait, bool) and wait >= 0
    expect(is_wait, "retryAfterSeconds is not a whole number of seconds", reply)
    if "policyVersion" in members:
        text_of(members, "policyVersion", reply)


@check(calls=1)
def endpoints_9_the_id_alone_is_not_enough(service: Subject) -> None:
    """An interpretation without a key is refused with 403, also for an existing proof."""
    service.expect_status(
        service.wire.ask(INTERPRETATION, key=None, proof_id=service.a_proof), 403, "with an id and without a key"
    )


@check(calls=2, needs=("other_key",))
def authentication_4_other_tenants_interpretation_is_not_given(service: Subject) -> None:
    """The interpretation of another tenant's proof is refused with 403 or 404."""
    reply = service.wire.ask(INTERPRETATION, key=service.inputs.other_key, proof_id=service.a_proof)
    service.expect_status(reply, {403, 404}, "of another tenant's proof")


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
