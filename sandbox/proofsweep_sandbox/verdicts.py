"""The verdict, decided from a finding and the registry, and the report-only members beside it. Pure."""

import hashlib

from proofsweep_sandbox.registry.proofs import Proof
from proofsweep_sandbox.seals.identity import Condition, Finding, Signer

# Contract, Verdicts: these conditions need no registry.
_BY_CONDITION = {
    Condition.UNREADABLE: "unreadable",
    Condition.ALTERED: "tampered",
    Condition.AUDIO_CHANGED: "audioChanged",
}
_NOTE_SECONDS = 4
_RUBRIC = "2026-03"
_POLICY = "2026-01"
# Contract, Endpoints 9: the default wait between two polls.
_POLL_SECONDS = 2
_CLASSIFICATIONS = ("human_performed", "human_edited", "mixed", "machine_generated")


def verdict_of(finding: Finding, registered: Proof | None, *, was_erased: bool) -> str:
    """Return the contract's verdict for a finding.

    `registered` is the registered proof with the seal's proof id, which may be pending; `was_erased` says whether such
    a proof was erased. An altered seal comes before changed audio, and both come before the registry.
    """
    if finding.condition in _BY_CONDITION:
        return _BY_CONDITION[finding.condition]
    if registered is None:
        is_local = finding.signer is Signer.DEVICE and not was_erased
        return "local_seal" if is_local else "unregistered"
    # The id of a registered proof, with another song, time or signer.
    if (finding.identity, finding.signer) != (registered.identity, registered.sealed_by):
        return "tampered"
    return "unregistered" if registered.pending else "valid"


def classification_of(proof: Proof) -> str:
    machine = 1 - _share_of_human(proof)
    quarter = min(3, int(machine * 4))
    return _CLASSIFICATIONS[quarter]


def grade_of(proof: Proof) -> dict[str, object]:
    """Return the grade's five members; the shares add up to one."""
    human = _share_of_human(proof)
    machine = round((1 - human) * 0.75, 2)
    unknown = round(1 - human - machine, 2)
    risk = "high"
    if human >= 0.66:  # noqa: PLR2004 - thirds
        risk = "low"
    elif human >= 0.33:  # noqa: PLR2004 - thirds
        risk = "medium"
    return {"human": human, "ai": machine, "unknown": unknown, "riskCategory": risk, "rubricVersion": _RUBRIC}


def interpretation_of(proof: Proof, now: float) -> dict[str, object]:
    """Return the process note: pending for some seconds after issuance, then ready."""
    if proof.pending or now < proof.issued_at + _NOTE_SECONDS:
        return {"status": "pending", "retryAfterSeconds": _POLL_SECONDS}
    text = f"The service witnessed the editing of {proof.song!r} and recorded it."
    return {"status": "ready", "text": text, "policyVersion": _POLICY}


def _share_of_human(proof: Proof) -> float:
    """Return a share from 0 to 1 with two decimals, derived from the proof id."""
    digest = hashlib.sha256(proof.proof_id.encode()).digest()
    return digest[0] * 100 // 255 / 100
