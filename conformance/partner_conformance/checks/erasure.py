"""DELETE /proofs/{proofId}: these checks run only if named, because erasure is final."""

from collections.abc import Callable

from partner_conformance.assertions import expect, links_in, seconds_of, success_members, text_of
from partner_conformance.checks.verdicts import KNOWN_VERDICTS
from partner_conformance.definition import Check, Risk, check
from partner_conformance.operations import ASSET, ERASE, INTERPRETATION, PROOF, PROOFS
from partner_conformance.pages import ids_of
from partner_conformance.replies import NotTried, Reply
from partner_conformance.sounds import is_wav
from partner_conformance.subject import MADE_UP, Subject

_OUTCOMES = ("erased", "already_erased")


def _erasing(calls: int, *needs: str) -> Callable[[Callable[[Subject], None]], Check]:
    """Make a check that erases, beside its calls with four to list the proofs and to verify the audio before."""
    return check(calls=calls + 4, needs=needs, risk=Risk.ERASES)


@_erasing(1)
def erase_unknown_proof_is_already_erased(service: Subject) -> None:
    """The erasure of an unknown proof is answered with 200 and `already_erased`, never with 404."""
    _expect_outcome(service.wire.ask(ERASE, proof_id=MADE_UP), "already_erased")


@_erasing(1)
def erase_answer_fields(service: Subject) -> None:
    """The answer to an erasure has `proofId`, `outcome`, and `erasedAt` in whole unix seconds."""
    reply = service.wire.ask(ERASE, proof_id=MADE_UP)
    members = success_members(reply)
    expect(members.get("proofId") == MADE_UP, "the answer has another proofId", reply)
    expect(members.get("outcome") in _OUTCOMES, "outcome is neither erased nor already_erased", reply)
    seconds_of(members, "erasedAt", reply)


@_erasing(3, "erase_proof", "other_key")
def erase_spares_other_tenants_proof(service: Subject) -> None:
    """A caller cannot erase another tenant's proof."""
    proof_id = service.inputs.erase_proof or ""
    success_members(service.wire.ask(PROOF, proof_id=proof_id))
    theirs = service.wire.ask(ERASE, key=service.inputs.other_key, proof_id=proof_id)
    _expect_outcome(theirs, "already_erased")
    after = service.wire.ask(PROOF, proof_id=proof_id)
    expect(after.status == PROOF.success, "another tenant has erased the proof", theirs, after)


@_erasing(1, "erase_proof")
def erase_erases(service: Subject) -> None:
    """The erasure of the caller's own proof is answered with 200 and `erased`."""
    _expect_outcome(_erased(service), "erased")


@_erasing(2, "erase_proof")
def erase_removes_the_record(service: Subject) -> None:
    """The record of an erased proof is not found: 404."""
    _erased(service)
    service.expect_status(service.wire.ask(PROOF, proof_id=service.inputs.erase_proof or ""), 404, "of an erased proof")


@_erasing(2, "erase_proof")
def erase_again_is_already_erased(service: Subject) -> None:
    """A repeated erasure is answered with 200 and `already_erased`."""
    _erased(service)
    _expect_outcome(service.wire.ask(ERASE, proof_id=service.inputs.erase_proof or ""), "already_erased")


@_erasing(3, "erase_proof")
def erase_tells_its_time_each_time(service: Subject) -> None:
    """The answers to an erasure and to its repeat have the `proofId`, and `erasedAt` in whole unix seconds."""
    first = _erased(service)
    for reply in (first, service.wire.ask(ERASE, proof_id=service.inputs.erase_proof or "")):
        members = success_members(reply)
        expect(members.get("proofId") == service.inputs.erase_proof, "the answer has another proofId", reply)
        seconds_of(members, "erasedAt", reply)


@_erasing(4, "erase_proof")
def erase_takes_that_proof_alone_from_the_list(service: Subject) -> None:
    """After an erasure the list lacks that proof, and no other one."""
    _erased(service)
    after = service.wire.ask(PROOFS, query={"limit": "100"})
    gone = set(ids_of(service.listing)) - set(ids_of(after))
    expect(service.inputs.erase_proof not in ids_of(after), "an erased proof is listed", after)
    expect(gone <= {service.inputs.erase_proof}, f"{len(gone)} proofs are gone", service.listing, after)


@_erasing(3, "erase_proof")
def erase_removes_asset_and_interpretation(service: Subject) -> None:
    """The asset and the interpretation of an erased proof are not found: 404."""
    _erased(service)
    for operation in (ASSET, INTERPRETATION):
        reply = service.wire.ask(operation, proof_id=service.inputs.erase_proof or "")
        service.expect_status(reply, 404, "of an erased proof")


@_erasing(6, "erase_proof")
def erase_makes_the_file_unregistered(service: Subject) -> None:
    """The one-file artifact of an erased proof is `unregistered`."""
    _erased(service)
    if service.erased_audio is None:
        raise NotTried("the proof had no one-file artifact")
    reply, _ = service.verified(service.erased_audio)
    verdict = text_of(success_members(reply), "verdict", reply)
    expect(reply.members.get("good") is False, "the file of an erased proof is good", reply)
    is_known = verdict in KNOWN_VERDICTS - {"unregistered"}
    expect(not is_known, f"the file of an erased proof is {verdict!r}, not 'unregistered'", reply)


def _erased(service: Subject) -> Reply:
    """Erase the given proof, once for all checks; the list and the proof's audio are read before."""
    if service.erasure is None:
        proof_id = service.inputs.erase_proof or ""
        _ = service.items
        service.erased_audio = _audio_of(service, proof_id)
        if service.erased_audio is not None:
            service.verified(service.erased_audio)  # a service must not remember this verdict
        service.erasure = service.wire.ask(ERASE, proof_id=proof_id)
    return service.erasure


def _audio_of(service: Subject, proof_id: str) -> bytes | None:
    reply = service.wire.ask(ASSET, proof_id=proof_id)
    links = links_in(reply.members) if reply.status == ASSET.success else []
    audio = (service.wire.elsewhere.download(link)[1] for link in links)
    return next((each for each in audio if is_wav(each)), None)


def _expect_outcome(reply: Reply, outcome: str) -> None:
    members = success_members(reply)
    received = text_of(members, "outcome", reply)
    expect(received == outcome, f"the outcome is {received[:40]!r}, not {outcome!r}", reply)
