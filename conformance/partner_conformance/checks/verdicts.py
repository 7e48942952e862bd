"""Verdicts: which audio gets which verdict (contract, Verdicts)."""

from pathlib import Path

from partner_conformance import sounds
from partner_conformance.assertions import expect, success_members
from partner_conformance.definition import check
from partner_conformance.operations import VERIFY
from partner_conformance.replies import Reply
from partner_conformance.subject import Subject

KNOWN_VERDICTS = {"valid", "audioChanged", "tampered", "unregistered", "unreadable", "local_seal"}


@check(calls=2)
def verdicts_audio_without_a_proof_is_unreadable(service: Subject) -> None:
    """Audio without a proof is `unreadable`."""
    expect_verdict(service.unreadable[0], "unreadable")


@check(calls=2, needs=("one_file",))
def verdicts_accepted_one_file_is_valid(service: Subject) -> None:
    """An accepted one-file credential is `valid`, without a sidecar."""
    expect_verdict(service.accepted, "valid")


@check(calls=2, needs=("pair", "sidecar_field"))
def verdicts_accepted_pair_is_valid(service: Subject) -> None:
    """An accepted legacy pair is `valid`."""
    expect_verdict(service.accepted_pair, "valid")


@check(calls=2, needs=("pair", "sidecar_field"))
def verdicts_changed_sidecar_of_a_pair(service: Subject) -> None:
    """A legacy pair with one changed byte of the sidecar is `tampered` or `unreadable`."""
    audio, sidecar = service.pair
    reply, _ = service.verified(audio, sounds.with_another_letter(sidecar))
    expect_verdict(reply, "tampered", "unreadable")


@check(calls=2, needs=("local_seal",))
def verdicts_local_seal(service: Subject) -> None:
    """An intact seal of an artist's device that was never registered is `local_seal`."""
    expect_verdict(_of_file(service, service.inputs.local_seal), "local_seal")


@check(calls=2, needs=("unregistered",))
def verdicts_unregistered(service: Subject) -> None:
    """A credential that is not registered is `unregistered`."""
    expect_verdict(_of_file(service, service.inputs.unregistered), "unregistered")


@check(calls=2)
def verdicts_good_with_valid_alone(service: Subject) -> None:
    """`good` is true if, and only if, the verdict is `valid`."""
    answers = [service.unreadable[0], *(reply for reply in service.wire.replies if reply.operation == VERIFY)]
    for reply in answers:
        if reply.status == VERIFY.success:
            members = reply.document
            agrees = (members.get("good") is True) == (members.get("verdict") == "valid")
            agrees |= (
                isinstance(members.get("verdict"), str) and members["verdict"] not in KNOWN_VERDICTS
            )  # a later release's
            expect(agrees, "good and verdict disagree", reply)


def _of_file(service: Subject, file: Path | None) -> Reply:
    return service.verified(file.read_bytes() if file else b"")[0]


def expect_verdict(reply: Reply, *verdicts: str) -> None:
    """Expect one of these verdicts, and `good` only with `valid`."""
    members = success_members(reply)
    verdict = members.get("verdict")
    received = repr(verdict[:40]) if isinstance(verdict, str) else "no string"
    expect(verdict in verdicts, f"the verdict is {received}, not {' or '.join(verdicts)}", reply)
    expect(members.get("good") is (verdict == "valid"), f"good is not {verdict == 'valid'} with {verdict}", reply)
