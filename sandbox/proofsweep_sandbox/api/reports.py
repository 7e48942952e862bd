"""The report-only members of an answer: classification, grade and interpretation."""

from proofsweep_sandbox.grading import CLASSIFICATIONS, grade_of, interpretation_of
from proofsweep_sandbox.later_release import NEW_CLASSIFICATION
from proofsweep_sandbox.registry.proofs import Proof
from proofsweep_sandbox.service import Service


def classification_in(service: Service, proof: Proof) -> dict[str, object]:
    """Return the member `classification`; older proofs have none."""
    if proof.classification is None:
        return {}
    if service.is_later_release:
        return {"classification": NEW_CLASSIFICATION}
    if proof.classification not in CLASSIFICATIONS:
        return {"classification": proof.classification}
    spellings = {
        "snake": proof.classification,
        "title": proof.classification.replace("_", " ").title(),
        "letter": "ABCD"[CLASSIFICATIONS.index(proof.classification)],
    }
    return {"classification": spellings[service.unspecified.classification_words]}


def note_of(service: Service, proof: Proof) -> dict[str, object]:
    """Return the process note in its present state."""
    unspecified = service.unspecified
    note = interpretation_of(proof, service.clock.now(), service.options.note_seconds)
    optional = {"retryAfterSeconds": unspecified.note_wait or None, "policyVersion": note.get("policyVersion")}
    if not unspecified.note_policy:
        optional["policyVersion"] = None
    kept = {name: value for name, value in optional.items() if name in note and value is not None}
    return {name: value for name, value in note.items() if name not in optional} | kept


def report_of(service: Service, proof: Proof) -> dict[str, object]:
    """Return the report-only members of a `valid` answer; which ones is unspecified."""
    unspecified = service.unspecified
    report: dict[str, object] = {}
    if unspecified.reports_classification:
        report |= classification_in(service, proof)
    if unspecified.reports_grade:
        report["grade"] = grade_of(proof, unspecified)
    if unspecified.reports_interpretation:
        report["interpretation"] = _inside_verify(service, proof)
    return report


def _inside_verify(service: Service, proof: Proof) -> dict[str, object]:
    match service.unspecified.interpretation_shape:
        case "note":
            return note_of(service, proof)
        case "summary":
            return {"summary": [{"lang": "en", "paragraphs": ["Recorded."]}], "status": 2, "text": None}
        case _:
            return {}
