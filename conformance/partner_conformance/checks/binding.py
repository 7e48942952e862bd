"""The binding to the exact audio bytes: any bit, any byte more or less (contract, What the service does)."""

from partner_conformance import sounds
from partner_conformance.assertions import expect, links_in, success_members, text_of
from partner_conformance.checks.verdicts import expect_verdict
from partner_conformance.definition import check
from partner_conformance.operations import ASSET, PROOF
from partner_conformance.replies import Advice, NotTried, Reply, Violation
from partner_conformance.snapshot import download_wav
from partner_conformance.subject import Subject

_PAIR = ("pair", "sidecar_field")
# A one-file credential is a C2PA manifest in the WAV; its boxes are labelled so.
_MANIFEST = b"c2pa"
_NOT_FOUND = 404
# RIFF: where a plain WAV tells its rate, after 12 bytes of head and 12 of its format; in other audio any byte.
_IN_THE_HEADER = 24


@check(calls=4, needs=("one_file",))
def verdicts_first_and_last_sample_of_a_one_file(service: Subject) -> None:
    """A one-file credential with one bit changed in the first or the last sample is `unreadable`."""
    for place in (0.0, 1.0):
        reply, _ = service.verified(sounds.with_another_sample(service.one_file, place))
        expect_verdict(reply, "unreadable")


@check(calls=6, needs=_PAIR)
def verdicts_first_and_last_sample_of_a_pair(service: Subject) -> None:
    """A legacy pair with one bit changed in the first, the middle or the last sample is `audioChanged`."""
    audio, sidecar = service.pair
    for place in (0.0, 0.5, 1.0):
        expect_verdict(service.verified(sounds.with_another_sample(audio, place), sidecar)[0], "audioChanged")


@check(calls=6, needs=("one_file",))
def verdicts_bytes_around_the_samples_of_a_one_file(service: Subject) -> None:
    """A one-file credential with another rate in its header, a byte more or a byte less is not accepted."""
    for audio in _with_other_bytes(service.one_file):
        _expect_exact(service.verified(audio)[0], "unreadable", "tampered")


@check(calls=6, needs=_PAIR)
def verdicts_bytes_around_the_samples_of_a_pair(service: Subject) -> None:
    """A legacy pair with another rate in its header, a byte more or a byte less is `audioChanged`."""
    audio, sidecar = service.pair
    for other in _with_other_bytes(audio):
        _expect_exact(service.verified(other, sidecar)[0], "audioChanged")


@check(calls=4, needs=("one_file", "other_key"))
def verdicts_alike_for_another_tenant(service: Subject) -> None:
    """An accepted credential is `valid` also for another tenant: only reading and erasing are the tenant's own."""
    key = service.inputs.other_key
    upload_id = service.stored(service.one_file, key=key)
    reply = service.verify(upload_id, key=key)
    if success_members(reply).get("verdict") != "valid":
        raise Advice("a credential of one tenant is not valid for another; the contract limits reads and erasure only")


@check(calls=2, needs=("one_file", *_PAIR))
def endpoints_11_sidecar_chooses_the_pair(service: Subject) -> None:
    """With a sidecar the pair is verified, also if the audio has an accepted one-file credential."""
    expect_verdict(service.verified(service.one_file, service.pair[1])[0], "audioChanged")


@check(calls=3, needs=_PAIR)
def endpoints_11_sidecar_is_not_remembered(service: Subject) -> None:
    """`POST /verify` has no side effects: without its sidecar, audio is `unreadable` also after a verified pair."""
    audio, sidecar = service.pair
    if _MANIFEST in audio:
        raise NotTried("the pair's audio has a credential of its own")
    upload_id = service.stored(audio)
    expect_verdict(service.verify(upload_id, sidecar), "valid")
    expect_verdict(service.verify(upload_id), "unreadable")


@check(calls=2, needs=("unregistered_pair", "sidecar_field"))
def verdicts_unregistered_pair(service: Subject) -> None:
    """A legacy pair that is not registered is `unregistered`."""
    audio, sidecar = (file.read_bytes() for file in service.inputs.unregistered_pair or ())
    expect_verdict(service.verified(audio, sidecar)[0], "unregistered")


@check(calls=3, needs=_PAIR)
def verdicts_sidecar_without_a_proof(service: Subject) -> None:
    """A sidecar that is no proof file is not accepted: it is refused, or `unreadable`."""
    reply = service.verify(service.stored(service.pair[0]), b"this is no proof file")
    service.expect_status(reply, range(200, 500), "with a sidecar that is no proof file")
    if reply.status == reply.operation.success:
        expect_verdict(reply, "unreadable", "tampered")


@check(calls=7)
def resources_asset_verifies(service: Subject) -> None:
    """An asset has a link that returns, without a key, audio that is `valid`, with the same proof."""
    proof_id = service.a_proof
    if service.inputs.one_file is not None:
        proof_id = text_of(success_members(service.accepted), "proofId", service.accepted)
    reply = service.wire.ask(ASSET, proof_id=proof_id)
    is_anothers = service.inputs.one_file is None or service.wire.ask(PROOF, proof_id=proof_id).status == _NOT_FOUND
    if reply.status == _NOT_FOUND and is_anothers:
        raise NotTried("this key's proof has no one-file artifact; name another one with --proof")
    audio = download_wav(service, links_in(success_members(reply)))
    if audio is None:
        raise Violation("no link of the answer returns a WAV", (reply,))
    answer, _ = service.verified(audio)
    expect_verdict(answer, "valid")
    expect(text_of(answer.members, "proofId", answer) == proof_id, "the asset is of another proof", reply, answer)


def _with_other_bytes(audio: bytes) -> tuple[bytes, bytes, bytes]:
    header = audio[:_IN_THE_HEADER] + bytes([audio[_IN_THE_HEADER] ^ 1]) + audio[_IN_THE_HEADER + 1 :]
    return header, audio + b"\0", audio[:-1]


def _expect_exact(reply: Reply, *verdicts: str) -> None:
    """Expect a rejection; that the samples alone are bound is one reading of "exact audio bytes"."""
    if success_members(reply).get("verdict") == "valid" and reply.members.get("good") is True:
        raise Advice("the samples alone are bound: another header or length is valid", (reply,))
    expect_verdict(reply, *verdicts)
