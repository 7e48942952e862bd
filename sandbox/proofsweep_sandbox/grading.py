"""The evidence grade and the process note: report-only, invented, and constant for each proof. Pure."""

import hashlib

from proofsweep_sandbox.registry.proofs import Proof
from proofsweep_sandbox.unspecified import Unspecified

_RUBRIC = "2026-03"
_POLICY = "2026-01"
# Contract, Endpoints 9: the default wait between two polls.
_POLL_SECONDS = 2

CLASSIFICATIONS = ("human_performed", "human_edited", "mixed", "machine_generated")


def share_of_human(proof_id: str) -> float:
    """Return a share from 0 to 1 with two decimals, derived from the proof id."""
    return hashlib.sha256(proof_id.encode()).digest()[0] * 100 // 255 / 100


def classification_of(proof_id: str) -> str:
    """Return the classification of a proof for which the operator gave none."""
    return CLASSIFICATIONS[min(3, int((1 - share_of_human(proof_id)) * 4))]


def grade_of(proof: Proof, unspecified: Unspecified) -> dict[str, object]:
    """Return the grade's five members; the shares add up to one, and their types are unspecified."""
    human = share_of_human(proof.proof_id)
    machine = round((1 - human) * 0.75, 2)
    risk = "low" if human >= 0.66 else "medium" if human >= 0.33 else "high"  # noqa: PLR2004 - thirds
    unknown = round(1 - human - machine, 2)
    shares = {"human": human, "ai": machine, "unknown": unknown}
    labels = {"riskCategory": risk, "rubricVersion": _RUBRIC}
    return {name: _share(share, unspecified.grade_shares) for name, share in shares.items()} | {
        name: _label(label, unspecified.grade_labels) for name, label in labels.items()
    }


def _share(share: float, kind: str) -> object:
    typed = {"percent": round(share * 100), "text": f"{share:.2f}", "object": {"share": share, "of": 1}, "null": None}
    return typed.get(kind, share)


def _label(label: str, kind: str) -> object:
    return {"number": len(label), "object": {"name": label}}.get(kind, label)


def interpretation_of(proof: Proof, now: float, note_seconds: int) -> dict[str, object]:
    """Return the process note: pending until `note_seconds` after issuance, then as the proof's record says."""
    if proof.pending or now < proof.issued_at + note_seconds:
        return {"status": "pending", "retryAfterSeconds": _POLL_SECONDS}
    if proof.note != "ready":
        return {"status": "unavailable"}
    text = f"The service witnessed the editing of {proof.song!r} and recorded it."
    return {"status": "ready", "text": text, "policyVersion": _POLICY}
