"""What an audit finds; and the ledger, walked from the first entry to the head."""

import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field

from proofsweep.domain.errors import UsageError
from proofsweep.store import layout
from proofsweep.store.ledger import Ledger, LedgerEntry
from proofsweep.store.objects import REQUESTS_AT_ONCE, Store, sha256_hex

_HEAD = re.compile(r"[0-9a-f]{64}")
# What an entry may name: only such objects are read.
_NAMED = re.compile(r"_runs/\w+/legs/\d+/receipt\.json|_pruned/\w+-\d+\.json", re.ASCII)


@dataclass(frozen=True, slots=True)
class AuditFinding:
    where: str  # the object or run that it is about
    what: str


@dataclass(slots=True)
class Audit:
    """What an audit found, and how much it checked."""

    head: str = ""  # of the ledger; empty if nothing has ended yet
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

    def note(self, where: str, what: str) -> None:
        self.notes.append(AuditFinding(where, what))

    def document(self) -> dict[str, object]:
        return {"ok": not self.wrong} | asdict(self)


@dataclass(frozen=True, slots=True)
class Line:
    """The entries of a ledger, by the names of the receipts."""

    entries: Mapping[str, LedgerEntry]
    store: Store
    newest: int  # number of the last entry
    is_whole: bool  # else it is not known which receipts it lacks

    def says(self, name: str, content: bytes) -> bool | None:
        """Return whether a receipt is as the ledger has it; None if the ledger has none of the name."""
        entry = self.entries.get(name)
        return None if entry is None else entry.sha256 == sha256_hex(content)

    def lacks(self, name: str) -> bool:
        """Return whether a receipt has no entry, also none that came while the audit read."""
        if name in self.entries or not self.is_whole:
            return False
        return all(entry.name != name for entry in Ledger(self.store).entries(self.newest))


def checked_head(text: str) -> str:
    """Read a head as a person kept it; UsageError if it is none."""
    head = "".join(text.split()).lower()
    if not _HEAD.fullmatch(head):
        raise UsageError("A head is one digest of 64 hex digits, as audit prints it.")
    return head


def read_line(store: Store, head: str | None, audit: Audit) -> Line:
    """Walk the ledger: no number is missing, each entry has the digest of the one before and that of its receipt.

    A `head` that was kept elsewhere is the digest of one of the entries.
    """
    found, wrong = dict[str, LedgerEntry](), dict[int, str]()
    before, digests = LedgerEntry(number=0), list[str]()
    for entry in Ledger(store).entries():
        is_readable = _NAMED.fullmatch(entry.name) is not None and entry.name not in found
        if entry.number != before.number + 1:
            wrong[before.number + 1] = "is missing from the ledger"
        elif is_readable and entry.previous != before.digest:
            wrong.setdefault(max(before.number, 1), "contradicts the entry after it: one of them was changed")
            found.pop(before.name, None)  # what it names may be changed too
        if is_readable:
            found[entry.name] = entry
        else:
            wrong.setdefault(entry.number, "is no entry, or names a receipt that another entry names")
        before = entry
        digests.append(entry.digest)
    for number, what in wrong.items():
        audit.bad(layout.ledger_name(number), what)
    audit.head = before.digest
    _check_receipts(store, found, audit)
    if head is not None and head not in digests:
        what = "no entry of the ledger has this digest: the records are not those that this head was taken of"
        audit.bad(f"head {head}", what)
    elif head is not None and (newer := digests[::-1].index(head)):
        audit.note(f"head {head}", f"is older than {newer:,} of {len(digests):,} entries")
    return Line(found, store, before.number, not wrong)


def _check_receipts(store: Store, entries: Mapping[str, LedgerEntry], audit: Audit) -> None:
    with ThreadPoolExecutor(REQUESTS_AT_ONCE) as pool:
        for entry, content in zip(entries.values(), pool.map(store.read, entries), strict=True):
            if content is None:
                audit.bad(entry.name, f"is missing; {layout.ledger_name(entry.number)} names it")
            elif entry.sha256 != sha256_hex(content):
                audit.bad(entry.name, f"was changed: {layout.ledger_name(entry.number)} names another digest of it")
