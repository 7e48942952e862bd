"""The log as an audit reads it: walked from the first entry to the head, without what is derived from it."""

import re
from collections import defaultdict
from dataclasses import dataclass, field

from proofsweep.audit.findings import Audit
from proofsweep.domain.errors import UsageError
from proofsweep.store import layout
from proofsweep.store.log import EntryKind, Log, LogEntry
from proofsweep.store.objects import Store
from proofsweep.store.runs import leg_of_entry, named_by

_HEAD = re.compile(r"[0-9a-f]{64}")


@dataclass(slots=True, kw_only=True)
class Line:
    """What the entries of a log say, each by the number of its entry."""

    store: Store
    newest: int  # number of the last entry
    is_whole: bool = True  # no entry is missing or unreadable: what is not there was never appended
    digests: dict[str, str] = field(default_factory=dict)  # hex sha256 of plans and receipts, by their names
    planned: dict[str, int] = field(default_factory=dict)  # runs and operations
    begun: dict[str, dict[int, int]] = field(default_factory=dict)  # legs, by run
    ended: dict[str, dict[int, int]] = field(default_factory=dict)
    given_up: dict[str, int] = field(default_factory=dict)  # runs
    prunings: dict[str, list[LogEntry]] = field(default_factory=lambda: defaultdict(list))  # by run

    def has_begun(self, run_id: str, leg: int) -> bool:
        """Whether a leg has begun, perhaps while the audit read; what a log with holes lacks is not known."""
        since = Log(self.store).entries_after(self.newest)
        is_new = any((entry.run_id, entry.facts.get("leg")) == (run_id, leg) for entry in since)
        return is_new or not self.is_whole or leg in self.begun.get(run_id, {})

    def has_pruned_since(self) -> bool:
        """Whether something was pruned while the audit read."""
        return any(entry.kind is EntryKind.PRUNED for entry in Log(self.store).entries_after(self.newest))

    def add(self, entry: LogEntry) -> str | None:
        """Add an entry; return what contradicts those before it, None if nothing does."""
        leg = leg_of_entry(entry)
        what = self._contradiction(entry, leg)
        if entry.kind is EntryKind.PLANNED:
            self.planned.setdefault(entry.run_id, entry.number)
        elif entry.kind is EntryKind.BEGUN:
            self.begun.setdefault(entry.run_id, {}).setdefault(leg, entry.number)
            if entry.facts.get("is_given_up") is True:
                self.given_up.setdefault(entry.run_id, entry.number)
        elif entry.kind is EntryKind.ENDED:
            self.ended.setdefault(entry.run_id, {}).setdefault(leg, entry.number)
        elif entry.kind is EntryKind.PRUNED:
            self.prunings[entry.run_id].append(entry)
        if (named := named_by(entry)) is not None:
            self.digests[named] = str(entry.facts.get("sha256"))
        return what

    def _contradiction(self, entry: LogEntry, leg: int) -> str | None:
        named = named_by(entry)
        if named is not None and named in self.digests:
            return f"names {named}, as another entry does"
        if not self.is_whole:  # the entry that it needs may be the one that is missing
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
    """Read a head as a person kept it; UsageError if it is none."""
    head = "".join(text.split()).lower()
    if not _HEAD.fullmatch(head):
        raise UsageError("A head is one digest of 64 hex digits, as audit prints it.")
    return head


def read_line(store: Store, head: str | None, audit: Audit) -> Line:
    """Walk the log: no number is missing, each entry has the digest of the one before, one has the `head`."""
    log = Log(store)
    line = Line(store=store, newest=log.newest())
    before, digests = LogEntry(number=0), list[str]()
    for entry in log.entries(1, line.newest):
        name, is_after_hole = layout.log_name(entry.number), before.number > 0 and before.kind is None
        if entry.kind is None:
            line.is_whole = False
            audit.bad(name, "is no entry of a log" if entry.digest else "is missing from the log")
        elif entry.previous != before.digest and not is_after_hole:
            where = layout.log_name(max(before.number, 1))
            audit.bad(where, "contradicts the entry after it: one of them was changed")
        if (what := line.add(entry)) is not None:
            audit.bad(name, what)
        before = entry
        digests.append(entry.digest)
    audit.head = before.digest
    if head is not None and head not in digests:
        what = "no entry of the log has this digest: the records are not those that this head was taken of"
        audit.bad(f"head {head}", what)
    elif head is not None and (newer := digests[::-1].index(head)):
        audit.note(f"head {head}", f"is older than {newer:,} of {len(digests):,} entries")
    return line
