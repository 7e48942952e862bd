"""The log as an audit reads it: walked from the first entry to the head, without what is derived from it."""

import re
from collections import defaultdict
from dataclasses import dataclass, field

from proofsweep.audit.findings import Audit
from proofsweep.domain.errors import UsageError
from proofsweep.store import layout
from proofsweep.store.log import EntryKind, Log, LogEntry, leg_of_entry, named_by
from proofsweep.store.objects import Store

_HEAD = re.compile(r"[0-9a-f]{64}")


@dataclass(slots=True, kw_only=True)
class Line:
    """What the entries of a log say, each by the number of its entry."""

    store: Store
    newest: int  # number of the last entry
    is_whole: bool = True  # no entry is missing or unreadable: what is not there was never appended
    digests: dict[str, str] = field(default_factory=dict)  # hex sha256 of plans and receipts, by their names
    planned: dict[str, int] = field(default_factory=dict)  # runs and operations
    begun: dict[str, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))  # legs, by run
    ended: dict[str, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))
    given_up: dict[str, int] = field(default_factory=dict)  # runs
    prunings: dict[str, list[LogEntry]] = field(default_factory=lambda: defaultdict(list))  # by run

    def has_begun(self, run_id: str, leg: int) -> bool:
        """Whether a leg has begun, perhaps while the audit read; what a log with holes lacks is not known."""
        if not self.is_whole or leg in self.begun.get(run_id, {}):
            return True
        since = Log(self.store).entries_after(self.newest)
        return any((entry.run_id, entry.facts.get("leg")) == (run_id, leg) for entry in since)

    def has_pruned_since(self) -> bool:
        """Whether something was pruned while the audit read."""
        since = Log(self.store).entries_after(self.newest)
        return any(entry.kind is EntryKind.PRUNED for entry in since)

    def add(self, entry: LogEntry) -> str | None:
        """Add an entry; return what contradicts those before it, None if nothing does."""
        run_id = entry.run_id
        leg = leg_of_entry(entry)
        what = self._contradiction(entry, leg)
        # The first entry counts: one that repeats it is a contradiction.
        if entry.kind is EntryKind.PLANNED:
            self.planned.setdefault(run_id, entry.number)
        elif entry.kind is EntryKind.BEGUN:
            self.begun[run_id].setdefault(leg, entry.number)
            if entry.facts.get("is_given_up") is True:
                self.given_up.setdefault(run_id, entry.number)
        elif entry.kind is EntryKind.ENDED:
            self.ended[run_id].setdefault(leg, entry.number)
        elif entry.kind is EntryKind.PRUNED:
            self.prunings[run_id].append(entry)
        named = named_by(entry)
        if named is not None:
            self.digests[named] = str(entry.facts.get("sha256"))
        return what

    def _contradiction(self, entry: LogEntry, leg: int) -> str | None:
        named = named_by(entry)
        if named is not None and named in self.digests:
            return f"names {named}, as another entry does"
        # In a log with holes, the entry that this one needs may be the one that is missing.
        if not self.is_whole:
            return None
        if entry.kind is not EntryKind.PLANNED and entry.run_id not in self.planned:
            return "is of a run that was not planned before"
        has_begun = leg in self.begun.get(entry.run_id, {})
        if entry.kind is EntryKind.BEGUN and has_begun:
            return f"begins leg {leg}, as another entry does"
        if entry.kind is EntryKind.ENDED and not has_begun:
            return f"ends leg {leg}, which never began"
        return None


def checked_head(text: str) -> str:
    """Read a head that a person has kept; UsageError if it is none."""
    head = "".join(text.split()).lower()
    if not _HEAD.fullmatch(head):
        raise UsageError("A head is one digest of 64 hex digits, as audit prints it.")
    return head


def read_line(store: Store, head: str | None, audit: Audit) -> Line:
    """Walk the log: no number is missing, each entry has the digest of the one before, one has the `head`."""
    log = Log(store)
    line = Line(store=store, newest=log.newest())
    before = LogEntry(number=0)
    digests: list[str] = []
    for entry in log.entries(1, line.newest):
        name = layout.log_name(entry.number)
        is_after_hole = before.number > 0 and before.kind is None
        if entry.kind is None:
            line.is_whole = False
            audit.bad(name, "is no entry of a log" if entry.digest else "is missing from the log")
        elif entry.previous != before.digest and not is_after_hole:
            where = layout.log_name(max(before.number, 1))
            audit.bad(where, "contradicts the entry after it: one of them was changed")
        contradiction = line.add(entry)
        if contradiction is not None:
            audit.bad(name, contradiction)
        before = entry
        digests.append(entry.digest)
    audit.head = before.digest
    if head is not None:
        _check_head(head, digests, audit)
    return line


def _check_head(head: str, digests: list[str], audit: Audit) -> None:
    # A head that was kept elsewhere stands for all entries up to its own: none of them was changed since.
    if head not in digests:
        what = "no entry of the log has this digest: the records are not those that this head was taken of"
        audit.bad(f"head {head}", what)
        return
    newer = digests[::-1].index(head)
    if newer:
        audit.add(f"head {head}", f"is older than {newer:,} of {len(digests):,} entries")
