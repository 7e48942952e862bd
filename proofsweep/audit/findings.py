"""What an audit found: counts, what is wrong, and what a reader should know."""

from dataclasses import asdict, dataclass, field


@dataclass(frozen=True, slots=True)
class AuditFinding:
    where: str  # the object or run that it is about
    what: str


@dataclass(slots=True)
class Audit:
    head: str = ""  # of the log
    runs: int = 0
    legs: int = 0
    operations: int = 0
    parts: int = 0
    rows: int = 0  # of `verdicts`
    parts_pruned: int = 0
    wrong: list[AuditFinding] = field(default_factory=list)  # records that were changed, or contradict each other
    notes: list[AuditFinding] = field(default_factory=list)  # all is as it should be, but a reader should know it

    def bad(self, where: str, what: str) -> None:
        self.wrong.append(AuditFinding(where, what))

    def add(self, where: str, what: str) -> None:
        self.notes.append(AuditFinding(where, what))

    def document(self) -> dict[str, object]:
        return {"ok": not self.wrong} | asdict(self)
