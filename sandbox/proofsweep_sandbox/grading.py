"""The report-only members: classification, grade and process note; invented, and constant for each proof. Pure."""

import hashlib

from proofsweep_sandbox.registry.proofs import Proof

_RUBRIC = "2026-03"
_POLICY = "2026-01"
# Contract, Endpoints 9: the default wait between two polls.
_POLL_SECONDS = 2
_CLASSIFICATIONS = ("human_performed", "human_edited", "mixed", "machine_generated")


def classification_of(proof: Proof) -> str:
    """Return one of the four classifications."""
    return _CLASSIFICATIONS[min(3, int((1 - _share_of_human(proof)) * 4))]


def grade_of(proof: Proof) -> dict[str, object]:
    """Return the grade's five members; the shares add up to one."""
    human = _share_of_human(proof)
    machine = round((1 - human) * 0.75, 2)
    risk = "low" if human >= 0.66 else "medium" if human >= 0.33 else "high"  # noqa: PLR2004 - thirds
    shares = {"human": human, "ai": machine, "unknown": round(1 - human - machine, 2)}
    return {**shares, "riskCategory": risk, "rubricVersion": _RUBRIC}


def interpretation_of(proof: Proof, now: float, note_seconds: int) -> dict[str, object]:
    """Return the process note: pending until `note_seconds` after issuance, then as the proof's record says."""
    if proof.pending or now < proof.issued_at + note_seconds:
        return {"status": "pending", "retryAfterSeconds": _POLL_SECONDS}
    if proof.note != "ready":
        return {"status": "unavailable"}
    text = f"The service witnessed the editing of {proof.song!r} and recorded it."
    return {"status": "ready", "text": text, "policyVersion": _POLICY}


def _share_of_human(proof: Proof) -> float:
    """Return a share from 0 to 1 with two decimals, derived from the proof id."""
    return hashlib.sha256(proof.proof_id.encode()).digest()[0] * 100 // 255 / 100
