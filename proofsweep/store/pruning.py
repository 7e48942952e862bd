"""What a pruning deletes of a run: decided before the first deletion, and written down. Pure."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from proofsweep.domain.errors import UsageError
from proofsweep.store.run_records import RunRecord

TABLES = ("verdicts", "exchanges")  # The tables that lose rows

_DAYS = re.compile(r"(\d{1,5})d")


class Keep(StrEnum):
    """Which rows of old runs are kept.

    LATEST: of each item and environment the newest answer, and the newest row without one. Each part that holds such a
    row is kept whole.
    """

    LATEST = "latest"


@dataclass(frozen=True, slots=True, kw_only=True)
class PrunedObject:
    """An object to delete; `rows` and `sha256` as a receipt has them, None if none names the object."""

    name: str
    size_bytes: int
    rows: int | None = None
    sha256: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruning:
    """One pruning of a run. One that keeps parts may be pruned again later."""

    run_id: str
    number: int  # counts its prunings from 1
    decided_at: str  # ISO instant in UTC
    run_ended_at: str  # ISO instant in UTC
    older_than_days: int  # the age that was asked for
    keep: str  # the rule by which parts are kept
    kept: tuple[str, ...]  # names of the parts with rows that stay; exchanges are none of them
    deleted: tuple[PrunedObject, ...]  # all objects that go
    proofsweep_version: str = ""

    @property
    def is_whole(self) -> bool:
        """Return whether no row of it stays but those of `runs`."""
        return not self.kept

    @property
    def size_bytes(self) -> int:
        return sum(each.size_bytes for each in self.deleted)

    def rows_of(self, table: str) -> int:
        return sum(each.rows or 0 for each in self.deleted if each.name.startswith(f"{table}/"))

    def document(self) -> dict[str, object]:
        totals = {table: self.rows_of(table) for table in TABLES}
        return asdict(self) | {"rows": totals, "size_bytes": self.size_bytes}


def days_of(text: str) -> int:
    """Read an age in whole days, at least one: `400d`; UsageError if it cannot be read."""
    found = _DAYS.fullmatch(text.strip())
    if found is None or int(found[1]) < 1:
        raise UsageError(f"{text!r} is not an age in days; write it like 400d, and at least 1d.")
    return int(found[1])


def ended_at(record: RunRecord) -> datetime:
    """Return when the last leg of a run ended; when the run was planned, if no leg says it."""
    told = [str(leg.counts["finished_at"]) for leg in record.legs if leg.counts.get("finished_at")]
    return max(map(datetime.fromisoformat, [*told, record.plan.created_at]))


def old_runs(records: Iterable[RunRecord], days: int, now: datetime) -> list[RunRecord]:
    """Choose the runs that are over and whose last leg ended at least so many days ago."""
    limit = now - timedelta(days=days)
    return [record for record in records if record.legs and record.is_over and ended_at(record) <= limit]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prunable:
    old_runs: int  # how many runs are old enough, those included of which nothing can go
    begun: Sequence[Pruning]  # prunings that were decided before, and did not come to their end
    new: Sequence[Pruning]  # prunings that are not decided yet; nothing of them is written

    @property
    def all(self) -> list[Pruning]:
        return [*self.begun, *self.new]
