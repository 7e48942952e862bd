"""The log: one line of entries, each created once with the next number, of all that happens to runs in a store.

    planned   a run, or an operation, has its plan
    begun     a process holds a leg: whoever creates this entry has it, so it is the leg's lease
    ended     the leg has its receipt, its parts, and its row in `runs`
    pruned    some objects of a run go
    retired   a catalog counts no more, with this run and all before it

What a store holds is worked out from the entries alone (`runs.py`). Each entry has the digest of the one before. So the
digest of the newest one, the head, stands for all of them and for the plans and receipts that they name: one that was
kept elsewhere shows any later change.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum

from proofsweep.config.threads import some_at_once
from proofsweep.domain.errors import NameTaken
from proofsweep.domain.items import Row
from proofsweep.store import layout
from proofsweep.store.objects import REQUESTS_AT_ONCE, Store, json_bytes, read_required, sha256_hex


class EntryKind(StrEnum):
    PLANNED = "planned"
    BEGUN = "begun"
    ENDED = "ended"
    PRUNED = "pruned"
    RETIRED = "retired"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry:
    """One entry. One that is missing or cannot be read has no kind; a missing one has no digest either."""

    number: int  # counts from 1
    kind: EntryKind | None = None
    run_id: str = ""
    facts: Mapping[str, object] = field(default_factory=dict)  # what else it says
    previous: str = ""  # the digest of the entry before; empty in the first
    digest: str = ""  # hex sha256 of the entry's own bytes


class Log:
    """The entries of a store as they stand there."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def newest(self) -> int:
        """Return the number of the newest entry; 0 if there is none."""
        newest = 0
        for folder in reversed(self._store.folders(layout.LOG_FOLDER)):
            names = self._store.names(f"{layout.LOG_FOLDER}/{folder}")
            newest = max(map(layout.log_number, names), default=0)
            if newest:
                break
        # A listing may lag behind: an entry that it lacks would be written once more.
        while self._store.read(layout.log_name(newest + 1)) is not None:
            newest += 1
        return newest

    def entries(self, first: int, last: int) -> Iterator[LogEntry]:
        """Yield the entries of these numbers, in order, also those that are missing."""
        yield from some_at_once(range(first, last + 1), self._entry_or_missing, REQUESTS_AT_ONCE)

    def entries_after(self, number: int) -> Iterator[LogEntry]:
        """Yield the entries behind one, up to the first that is missing."""
        # No listing is asked, as it may lag behind: numbers have no gap.
        while True:
            number += 1
            content = self._store.read(layout.log_name(number))
            if content is None:
                return
            yield _entry_of(number, content)

    def entry(self, number: int) -> LogEntry:
        """Read one entry; ResultsError if it is missing."""
        return _entry_of(number, read_required(self._store, layout.log_name(number)))

    def create(self, number: int, previous: str, kind: EntryKind, run_id: str, facts: Row) -> LogEntry | None:
        """Create an entry, with the digest of the one before; None if another one has its number."""
        entry = {"number": number, "kind": kind, "run_id": run_id, **facts, "previous": previous}
        content = json_bytes(entry)
        try:
            self._store.create(layout.log_name(number), content)
        except NameTaken:
            return None
        return _entry_of(number, content)

    def _entry_or_missing(self, number: int) -> LogEntry:
        content = self._store.read(layout.log_name(number))
        if content is None:
            return LogEntry(number=number)
        return _entry_of(number, content)


def _entry_of(number: int, content: bytes) -> LogEntry:
    # One that cannot be read keeps its digest: the entry after it names that, and the line goes on.
    digest = sha256_hex(content)
    with suppress(ValueError, TypeError, KeyError, AttributeError):
        facts = json.loads(content)
        kind = EntryKind(facts.pop("kind"))
        run_id = str(facts.pop("run_id"))
        previous = str(facts.pop("previous"))
        if facts.pop("number") == number and layout.is_run_id(run_id):
            return LogEntry(number=number, kind=kind, run_id=run_id, facts=facts, previous=previous, digest=digest)
    return LogEntry(number=number, digest=digest)


def named_by(entry: LogEntry) -> str | None:
    """Name the object that an entry speaks of, with its digest: it was written before, and is never changed."""
    if entry.kind is EntryKind.PLANNED:
        return layout.plan_name(entry.run_id)
    if entry.kind is EntryKind.ENDED:
        return layout.receipt_name(entry.run_id, leg_of_entry(entry))
    return None


def leg_of_entry(entry: LogEntry) -> int:
    leg = entry.facts.get("leg")
    return leg if isinstance(leg, int) else 0


def what_is_wrong(entry: LogEntry, content: bytes | None) -> str:
    """Say what is missing or cannot be read: the entry, or the object that it speaks of, which has this content."""
    name = layout.log_name(entry.number)
    if not entry.digest:
        return f"{name} is missing"
    named = named_by(entry)
    if named is None:
        return f"{name} cannot be read"
    if content is None:
        return f"{named} is missing"
    return f"{named} cannot be read"
