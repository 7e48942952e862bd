"""What is wrong and what is only worth to know are kept apart."""

from proofsweep.model.findings import AuditFinding, Findings


def test_notes_are_not_wrong() -> None:
    """An audit with notes alone passes."""
    findings = Findings()

    findings.note("run", "is at work")
    findings.bad("part", "is missing")

    assert findings.notes == [AuditFinding("run", "is at work")]
    assert findings.wrong == [AuditFinding("part", "is missing")]
