"""DELETE /proofs/{proofId}: these checks run only if named, because erasure is final."""

from collections.abc import Callable

from partner_conformance.assertions import expect, links_in, seconds_of, success_members, text_of
from partner_conformance.checks.verdicts import KNOWN_VERDICTS, expect_verdict
from partner_conformance.definition import Check, Risk, check
from partner_conformance.operations import ASSET, ERASE, INTERPRETATION, PROOF
from partner_conformance.replies import NotTried, Reply
from partner_conformance.snapshot import CALLS, CALLS_FOR_A_PROOF, download_wav, expect_nothing_changes, snapshot
from partner_conformance.subject import MADE_UP, Erasure, Subject

_OUTCOMES = ("erased", "already_erased")


def _erasing(calls: int, *needs: str) -> Callable[[Callable[[Subject], None]], Check]:
    """Make a check that erases, beside its calls with those that read the state before and after."""
    return check(calls=calls + 4 + 2 * (CALLS + CALLS_FOR_A_PROOF), needs=needs, risk=Risk.ERASES)


@_erasing(3 * (CALLS + CALLS_FOR_A_PROOF))
def erase_of_nothing_changes_nothing(service: Subject) -> None:
    """The erasure of an unknown proof, or of another tenant's, changes nothing."""

    def erase() -> None:
        service.wire.ask(ERASE, proof_id=MADE_UP)
        if service.inputs.other_key is not None and service.inputs.erase_proof is not None:
            service.wire.ask(ERASE, key=service.inputs.other_key, proof_id=service.inputs.erase_proof)

    expect_nothing_changes(service, erase, [service.known_proof])


@_erasing(1)
def erase_unknown_proof_is_already_erased(service: Subject) -> None:
    """The erasure of an unknown proof is answered with 200 and `already_erased`, never with 404."""
    _expect_outcome(service.wire.ask(ERASE, proof_id=MADE_UP), "already_erased")


@_erasing(3, "erase_proof")
def erase_erases_once(service: Subject) -> None:
    """The erasure of the caller's own proof is `erased`, its repeat `already_erased`; both tell proof and time."""
    proof_id = service.inputs.erase_proof or ""
    for outcome in _OUTCOMES:
        reply = _erased(service) if outcome == "erased" else service.wire.ask(ERASE, proof_id=proof_id)
        _expect_outcome(reply, outcome)
        expect(reply.members.get("proofId") == proof_id, "the answer has another proofId", reply)
        seconds_of(reply.members, "erasedAt", reply)


@_erasing(4, "erase_proof")
def erase_removes_the_proof(service: Subject) -> None:
    """The record, the asset and the interpretation of an erased proof are not found: 404."""
    _erased(service)
    for operation in (PROOF, ASSET, INTERPRETATION):
        reply = service.wire.ask(operation, proof_id=service.inputs.erase_proof or "")
        service.expect_status(reply, 404, "of an erased proof")


@_erasing(6, "erase_proof")
def erase_makes_the_file_unregistered(service: Subject) -> None:
    """The one-file artifact of an erased proof is `unregistered`, uploaded again and as it was uploaded before."""
    erasure = _erasure(service)
    if erasure.audio is None:
        raise NotTried("the proof had no one-file artifact")
    for upload_id in (service.stored(erasure.audio), erasure.upload_id):
        _expect_unregistered(service.verify(upload_id))


@_erasing(8, "erase_pair", "sidecar_field")
def erase_makes_the_pair_unregistered(service: Subject) -> None:
    """A legacy pair whose proof is erased is `unregistered`."""
    audio, sidecar = (file.read_bytes() for file in service.inputs.erase_pair or ())
    before, upload_id = service.verified(audio, sidecar)
    expect_verdict(before, "valid")
    _expect_outcome(service.wire.ask(ERASE, proof_id=text_of(before.members, "proofId", before)), "erased")
    for again in (service.stored(audio), upload_id):
        _expect_unregistered(service.verify(again, sidecar))


@_erasing(2, "erase_proof")
def erase_ends_its_links(service: Subject) -> None:
    """A download link that was given before an erasure does not give the audio afterwards."""
    erasure = _erasure(service)
    if erasure.audio is None:
        raise NotTried("the proof had no one-file artifact")
    expect(download_wav(service, erasure.links) is None, "an earlier link still gives the audio", erasure.reply)


@_erasing(2, "erase_proof")
def erase_changes_that_proof_alone(service: Subject) -> None:
    """An erasure removes that proof: keys, usage and all other proofs are as before."""
    erasure = _erasure(service)
    changes = erasure.before.changes(erasure.after, (f"proofs/{service.inputs.erase_proof}/*",))
    expect(not changes, f"it has changed {', '.join(changes)}", erasure.reply, *erasure.after.replies[:2])
    is_listed = any(each == service.inputs.erase_proof for _, each, _ in erasure.after.values)
    expect(not is_listed, "an erased proof is listed", erasure.reply, *erasure.after.replies[:2])
    counted = erasure.before.uncounted(erasure.after)
    expect(not counted, counted, erasure.reply, erasure.after.replies[-1])


def _erased(service: Subject) -> Reply:
    return _erasure(service).reply


def _erasure(service: Subject) -> Erasure:
    """Erase the given proof, once for all checks; its links, its audio and all else are read before."""
    if service.erasure is None:
        proof_id = service.inputs.erase_proof or ""
        others = [service.inputs.proof] if service.inputs.proof not in {None, proof_id} else []
        links = links_in(service.wire.ask(ASSET, proof_id=proof_id).members)
        audio = download_wav(service, links)
        upload_id = service.stored(audio) if audio is not None else ""
        if audio is not None:
            service.verify(upload_id)  # a service must not remember this verdict
        before = snapshot(service, filter(None, others))
        reply = service.wire.ask(ERASE, proof_id=proof_id)
        after = snapshot(service, filter(None, others))
        service.erasure = Erasure(
            reply=reply, links=links, audio=audio, upload_id=upload_id, before=before, after=after
        )
    return service.erasure


def _expect_unregistered(reply: Reply) -> None:
    verdict = text_of(success_members(reply), "verdict", reply)
    expect(reply.members.get("good") is False, "the audio of an erased proof is good", reply)
    is_known = verdict in KNOWN_VERDICTS - {"unregistered"}
    expect(not is_known, f"the audio of an erased proof is {verdict!r}, not 'unregistered'", reply)


def _expect_outcome(reply: Reply, outcome: str) -> None:
    members = success_members(reply)
    received = text_of(members, "outcome", reply)
    expect(received == outcome, f"the outcome is {received[:40]!r}, not {outcome!r}", reply)
