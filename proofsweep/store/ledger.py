"""The ledger: one line of entries, each created once with the next number, of all that ended or was decided here.

An entry names a receipt and its digest, and has the digest of the entry before. So the digest of the newest entry, the
head, stands for all receipts before it, and one that was kept elsewhere shows any later change.

Whoever writes a receipt appends its entry next. A process that is killed between both is healed by whoever comes next:
a receipt says after which entry it was written (`after_entry`), so only the entries behind that one are looked through.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

from proofsweep.config.threads import some_at_once
from proofsweep.domain.errors import NameTaken
from proofsweep.store import layout
from proofsweep.store.objects import REQUESTS_AT_ONCE, Store, json_bytes, read_required, sha256_hex


class EntryKind(StrEnum):
    LEG = "leg"
    PRUNING = "pruning"


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """One entry; one that cannot be read has empty members, and its digest all the same."""

    number: int  # counts from 1
    kind: str = ""
    name: str = ""  # of the receipt; of a pruning, of its intent
    sha256: str = ""  # of the receipt's bytes, in hex
    previous: str = ""  # the digest of the entry before; empty in the first
    digest: str = ""  # hex sha256 of the entry's own bytes


class Ledger:
    def __init__(self, store: Store) -> None:
        self._store = store

    def append(self, kind: EntryKind, *names: str) -> None:
        """Append an entry for each of some receipts that has none.

        Repeating this is safe, also for several processes at once: they meet at the next number. Raises ResultsError: a
        receipt is missing, or the store cannot be written.
        """
        receipts = {name: read_required(self._store, name) for name in names}
        line = [LedgerEntry(number=0), *self.entries(min(map(_after_entry, receipts.values())) - 1)]
        for name, content in receipts.items():
            while all(entry.name != name for entry in line):
                line.append(self._next(line[-1], {"kind": kind, "name": name, "sha256": sha256_hex(content)}))

    def entries(self, after: int = 0) -> Iterator[LedgerEntry]:
        """Yield the entries behind a number, in order; one that a listing lacks is asked for by its number."""
        found = some_at_once(range(after + 1, self.newest() + 1), self._entry_if_there, REQUESTS_AT_ONCE)
        yield from (entry for entry in found if entry is not None)

    def newest(self) -> int:
        """Return the number of the newest entry, 0 if there is none: what a receipt says as `after_entry`."""
        newest = next((numbers[-1] for each in reversed(self._folders()) if (numbers := self._numbers_in(each))), 0)
        while self._entry_if_there(newest + 1) is not None:  # a listing may lag behind
            newest += 1
        return newest

    def head(self) -> str:
        """Return the digest of the newest entry, empty if there is none."""
        newest = self.newest()
        return self._entry(newest).digest if newest else ""

    def _next(self, before: LedgerEntry, facts: Mapping[str, str]) -> LedgerEntry:
        """Create the entry behind another; if its number is taken, give the one that stands there."""
        number = before.number + 1
        content = json_bytes({"number": number, **facts, "previous": before.digest})
        try:
            self._store.create(layout.ledger_name(number), content)
        except NameTaken:
            return self._entry(number)
        return _entry_of(number, content)

    def _entry(self, number: int) -> LedgerEntry:
        return _entry_of(number, read_required(self._store, layout.ledger_name(number)))

    def _entry_if_there(self, number: int) -> LedgerEntry | None:
        content = self._store.read(layout.ledger_name(number))
        return None if content is None else _entry_of(number, content)

    def _folders(self) -> list[str]:
        return [f"{layout.LEDGER_FOLDER}/{name}" for name in self._store.folders(layout.LEDGER_FOLDER)]

    def _numbers_in(self, folder: str) -> list[int]:
        return [number for name in self._store.names(folder) if (number := _number_of(name))]


def _entry_of(number: int, content: bytes) -> LedgerEntry:
    members: dict[str, str] = {}
    with suppress(ValueError, TypeError, KeyError):
        document = json.loads(content)
        members = {name: str(document[name]) for name in ("kind", "name", "sha256", "previous")}
    return LedgerEntry(number=number, digest=sha256_hex(content), **members)


def _number_of(name: str) -> int:
    """Return the number of an entry by its name; 0 if it is no entry's name."""
    stem = name.rpartition("/")[2].removesuffix(".json")
    return int(stem) if stem.isdecimal() and layout.ledger_name(int(stem)) == name else 0


def _after_entry(receipt: bytes) -> int:
    with suppress(ValueError, TypeError, AttributeError):
        return max(0, int(json.loads(receipt).get("after_entry", 0)))
    return 0
