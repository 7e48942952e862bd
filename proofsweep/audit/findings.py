"""What an audit found, as values. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """One thing that is wrong, or worth to know: the object or run that it is about, and what it is."""

    where: str
    what: str


@dataclass(slots=True)
class Findings:
    # the records are not as they were written, or contradict each other.
    wrong: list[AuditFinding] = field(default_factory=list)
    notes: list[AuditFinding] = field(default_factory=list)  # all is as it should be, but a reader should know it

    def bad(self, where: str, what: str) -> None:
        self.wrong.append(AuditFinding(where, what))

    def note(self, where: str, what: str) -> None:
        self.notes.append(AuditFinding(where, what))


@dataclass(slots=True)
class Checked:
    """How much was checked; rows are those of `verdicts`."""

    runs: int = 0
    operations: int = 0
    legs: int = 0
    parts: int = 0
    rows: int = 0
    pruned_parts: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    head: str  # digests of the receipts that no other receipt holds, joined by `+`; empty in a store without receipts
    checked: Checked
    wrong: Sequence[AuditFinding]
    notes: Sequence[AuditFinding]

    def document(self) -> dict[str, object]:
        checked = self.checked
        return {
            "ok": not self.wrong,
            "head": self.head,
            "runs": checked.runs,
            "legs": checked.legs,
            "operations": checked.operations,
            "parts": checked.parts,
            "rows": checked.rows,
            "parts_pruned": checked.pruned_parts,
            "wrong": [{"where": each.where, "what": each.what} for each in self.wrong],
            "notes": [{"where": each.where, "what": each.what} for each in self.notes],
        }
