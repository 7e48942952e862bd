"""DELETE /proofs/{proofId}: these checks run only if named, because erasure is final."""

from collections.abc import Callable

from conformance.assertions import expect, seconds_of, success_members, text_of
from conformance.definition import Check, Risk, check
from conformance.operations import ERASE, PROOF
from conformance.replies import Reply
from conformance.subject import MADE_UP, Subject

_OUTCOMES = ("erased", "already_erased")


def _erasing(calls: int, *needs: str) -> Callable[[Callable[[Subject], None]], Check]:
    return check(calls=calls, needs=needs, risk=Risk.ERASES)


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


def _erased(service: Subject) -> Reply:
    """Erase the given proof, once for all checks."""
    if service.erasure is None:
        service.erasure = service.wire.ask(ERASE, proof_id=service.inputs.erase_proof or "")
    return service.erasure


def _expect_outcome(reply: Reply, outcome: str) -> None:
    members = success_members(reply)
    received = text_of(members, "outcome", reply)
    expect(received == outcome, f"the outcome is {received[:40]!r}, not {outcome!r}", reply)
