"""What is derived from a results store, kept as immutable entries that several processes may add at once.

No entry is ever changed. One that replaces others names them; a reader ignores the named ones, and they are deleted
only later, so that a reader that listed them before can still read them. No conditional write is needed, and two
processes that replace the same entries at once only leave the same facts twice.
"""

import gzip
import json
import secrets
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from proofsweep.domain.errors import ResultsError
from proofsweep.store.store import Store

_GRACE = timedelta(minutes=10)
_ATTEMPTS = 4

_ENDING = ".json.gz"


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry: what it says, the objects that belong to it, and the objects that it replaces."""

    name: str
    body: dict[str, object]
    objects: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """How many rows its objects have; 0 for an entry without such."""
        rows = self.body.get("rows")
        return rows if isinstance(rows, int) else 0


@dataclass(frozen=True, slots=True)
class DerivedLog:
    store: Store
    folder: str
    clock: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))

    def names(self) -> list[str]:
        return [name for name in self.store.names(self.folder) if name.endswith(_ENDING)]

    def entries(self) -> list[Entry]:
        """Read the entries that no other replaces; ResultsError if one is damaged, or the log changes all the time."""
        for _ in range(_ATTEMPTS):
            found = self._read_newest_first(self.names())
            if found is not None:
                return found
        raise ResultsError(f"{self.folder} in the results store {self.store.url} changes while it is read; try again.")

    def new_name(self) -> str:
        """Return a name for a new entry that no other process uses; it sorts by time."""
        return f"{self.folder}/{_stamp(self.clock())}-{secrets.token_hex(4)}{_ENDING}"

    def add(
        self,
        body: dict[str, object],
        *,
        name: str | None = None,
        objects: Sequence[str] = (),
        replaced: Sequence[Entry] = (),
        also: Sequence[str] = (),
    ) -> None:
        """Write an entry, in the place of others if so; delete what was replaced long ago.

        `objects` were written for this entry; `replaced` entries have their facts in this one; `also` names further
        objects to replace, which were not read.
        """
        limit = f"{self.folder}/{_stamp(self.clock() - _GRACE)}"
        old = [name for entry in replaced if entry.name < limit for name in entry.replaces]
        waiting = [name for entry in replaced if entry.name >= limit for name in entry.replaces]
        names = [*also, *waiting, *(name for entry in replaced for name in (entry.name, *entry.objects))]
        document = {"objects": list(objects), "replaces": sorted({*names} - {*old}), "body": body}
        content = gzip.compress(json.dumps(document, default=str).encode("utf-8", "replace"), compresslevel=5)
        self.store.create(name or self.new_name(), content)
        for each in old:
            self.store.delete(each)

    def _read_newest_first(self, names: Sequence[str]) -> list[Entry] | None:
        found: list[Entry] = []
        damaged: set[str] = set()
        replaced: set[str] = set()
        for name in reversed(names):
            if name not in replaced:
                content = self.store.read(name)
                if content is None:
                    return None
                entry = _entry(name, content)
                damaged |= {name} if entry is None else set()
                found += [] if entry is None else [entry]
                replaced.update(() if entry is None else entry.replaces)
        for name in sorted(damaged - replaced):
            raise ResultsError(
                f"{name} in the results store {self.store.url} is damaged. It is derived: delete "
                f"{self.folder}, and it is made anew."
            )
        return [entry for entry in found if entry.name not in replaced]


def _entry(name: str, content: bytes) -> Entry | None:
    try:
        document = json.loads(gzip.decompress(content))
        return Entry(name, document["body"], tuple(document["objects"]), tuple(document["replaces"]))
    except (OSError, EOFError, ValueError, KeyError, TypeError, zlib.error):
        return None


def _stamp(now: datetime) -> str:
    return f"{now.astimezone(UTC):%Y%m%dT%H%M%S%f}"
