"""Every row that some leg has finished: those of the snapshot, and those that it does not have yet."""

from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import chain, islice
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc

from proofsweep.domain.errors import ResultsError
from proofsweep.domain.items import Row, sidecar_key
from proofsweep.domain.runs import Plan, shard_of
from proofsweep.store import layout
from proofsweep.store.journal import Segments
from proofsweep.store.legs import Legs
from proofsweep.store.parts import Results
from proofsweep.store.run_records import RunRecord
from proofsweep.store.runs import RunIndex
from proofsweep.store.snapshot import COLUMNS, Snapshot, SnapshotFile, files_of, legs_in, merged
from proofsweep.store.tables import ANSWERED


def known_rows(results: Results, environment: str, columns: Sequence[str]) -> Iterator[pa.Table]:
    """Return an environment's rows: the snapshot's, then those of legs at work, killed, or not in it yet."""
    snapshot = Snapshot(results.store)
    entries = snapshot.entries()  # before the runs: a leg that ends meanwhile is read twice rather than not at all
    legs = legs_in(entries)
    for table in snapshot.rows(columns, entries):
        yield table.filter(pc.field("environment") == environment).select(list(columns))
    for run in RunIndex(results).refreshed().newest_first():
        if run.plan.environment == environment:
            yield from _late_rows(results, run, legs.get(run.plan.run_id, []), list(columns))


def are_known_since(results: Results, plan: Plan, item_ids: Iterable[str]) -> bool:
    """Whether another run has finished each of these items since a run was planned."""
    epoch, time = Legs(results, plan.run_id).epoch(1), datetime.fromisoformat(plan.created_at)
    is_same = (pc.field("epoch") == epoch) & (pc.field("finished_at") >= pa.scalar(time))
    is_later = (is_same | (pc.field("epoch") > epoch)) & (pc.field("run_id") != plan.run_id)
    tables = known_rows(results, plan.environment, ["item_id", "run_id", "epoch", "finished_at"])
    later = HashedItems(str(each) for table in tables for each in table.filter(is_later)["item_id"].to_pylist())
    return len(later) > 0 and all(each in later for each in item_ids)


def _late_rows(results: Results, run: RunRecord, held: Sequence[int], columns: list[str]) -> Iterator[pa.Table]:
    if run.is_over and all(leg.leg in held for leg in run.legs):
        return
    names = results.parts_of("verdicts", run.plan)
    yield from results.tables([name for name in names if layout.leg_of(name) not in held], columns)
    for leg in map(int, results.store.folders(layout.journals_folder(run.plan.run_id))):
        segments = Segments(results, run.plan.run_id, leg)
        tables = (segments.table(name, columns) for name in segments.names("verdicts"))
        yield from (table for table in tables if table is not None)


_COLUMNS = (
    *("item_id", "audio_version", "sidecar", "sidecar_version", "epoch", "finished_at", "outcome"),
    *("audio_bytes", "audio_sha256"),
)
_OF_SIZE = ("item_id", "audio_bytes", "sidecar")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def version_of_size(size_bytes: int, *, is_pair: bool) -> tuple[str, str | None]:
    """Return what stands for the versions of an answered item of which only the size is known."""
    return f"{size_bytes} bytes", "pair" if is_pair else None


class AnswerTimes:
    """The newest time of each item and version in one environment, by rows of these `outcomes`; read at first use.

    An item whose digest is known has a time of its `version_of_size` too.
    """

    def __init__(self, results: Results, environment: str, outcomes: Sequence[str]) -> None:
        self.outcomes = outcomes
        self._results = results
        self._environment = environment
        self._hashes: memoryview | None = None
        self._times = memoryview(b"").cast("q")
        self._count = 0

    def of(self, item_id: str, audio_version: str | None, sidecar: str | None) -> datetime | None:
        """Return when an item was tried; None if it was not, or with other audio or another `sidecar_key`."""
        if self._hashes is None:
            self._hashes, self._times = self._read()
        hashed = hash((item_id, audio_version, sidecar))
        index = bisect_right(self._hashes, hashed, 0, self._count) - 1
        if audio_version is None or index < 0 or self._hashes[index] != hashed:
            return None
        return _EPOCH + timedelta(microseconds=self._times[index])

    def _read(self) -> tuple[memoryview, memoryview]:
        hashes, epochs, times = array("q"), array("i"), array("q")
        is_wanted = pc.field("outcome").isin(self.outcomes) & pc.field("finished_at").is_valid()
        for table in known_rows(self._results, self._environment, _COLUMNS):
            rows = table.filter(is_wanted)
            sidecars = map(sidecar_key, rows["sidecar"].to_pylist(), rows["sidecar_version"].to_pylist())
            names = (rows[name].to_pylist() for name in ("item_id", "audio_version"))
            hashes.extend(map(hash, zip(*names, sidecars, strict=True)))
            read = rows.filter(pc.is_valid(rows["audio_sha256"]))
            for item_id, size, sidecar in zip(*(read[name].to_pylist() for name in _OF_SIZE), strict=True):
                hashes.append(hash((item_id, *version_of_size(size, is_pair=sidecar is not None))))
            for each in (rows, read):
                epochs.extend(int(epoch or 0) for epoch in each["epoch"].to_pylist())
                times.extend(int(time or 0) for time in pc.cast(each["finished_at"], pa.int64()).to_pylist())
        columns = {"hash": pa.array(hashes, pa.int64()), "epoch": pa.array(epochs), "time": pa.array(times, pa.int64())}
        self._count = len(hashes)
        order = pc.sort_indices(pa.table(columns), sort_keys=[(name, "ascending") for name in columns])
        return _numbers(columns["hash"].take(order)), _numbers(columns["time"].take(order))


def _numbers(column: pa.Int64Array) -> memoryview:
    return memoryview(column.buffers()[1] or b"").cast("q")


_FEW_ITEMS = 5_000


class HashedItems:
    """A set of item IDs, or of keys with one, in eight bytes each: a set of text needs a gigabyte for ten million."""

    def __init__(self, item_ids: Iterable[Hashable]) -> None:
        self._sort(array("q", map(hash, item_ids)))

    @classmethod
    def of_hashes(cls, hashed: "array[int]") -> Self:
        """Make the set of the hashes of its members, in this process."""
        made = cls(())
        made._sort(hashed)
        return made

    def _sort(self, hashed: "array[int]") -> None:
        hashes = pa.array(hashed, pa.int64())
        self._hashes = _numbers(hashes.take(pc.array_sort_indices(hashes)))
        self._count = len(hashes)

    def __len__(self) -> int:
        return self._count

    def __contains__(self, item_id: Hashable) -> bool:
        return self.has_hash(hash(item_id))

    def has_hash(self, hashed: int) -> bool:
        """Whether a member has this hash, which was made in this process."""
        index = bisect_left(self._hashes, hashed, 0, self._count)
        return index < self._count and self._hashes[index] == hashed


def newest_answers(results: Results, environment: str, item_ids: Iterable[str]) -> Iterator[pa.Table]:
    """Return the newest answer of each of these items in an environment, in tables of some thousand rows, by item.

    An answer is `accepted` or `rejected`; an item without one has no row. The columns are those of the snapshot, which
    is as new as the last leg that ended. ResultsError if the snapshot cannot be read.
    """
    is_answer = (pc.field("environment") == environment) & pc.field("outcome").isin(ANSWERED)
    rest = iter(item_ids)
    few = sorted(islice(rest, _FEW_ITEMS))
    wanted = HashedItems(chain(few, rest))
    near = few if len(wanted) == len(few) else None
    snapshot = Snapshot(results.store)
    chosen = [[file for file in files_of(entry) if _may_hold(file, near)] for entry in snapshot.entries()]
    for table in merged([snapshot.tables_of(files) for files in chosen]):
        answers = table.filter(is_answer)
        found = [str(item_id) in wanted for item_id in answers["item_id"].to_pylist()]
        if any(found):
            yield answers.filter(pa.array(found)).select(COLUMNS)


def _may_hold(file: SnapshotFile, items: Sequence[str] | None) -> bool:
    if items is None:
        return True
    index = bisect_left(items, file.first)
    return index < len(items) and items[index] <= file.last


def earlier_rows(results: Results, environment: str, item_ids: Iterable[str]) -> dict[str, Row]:
    """Return the whole `verdicts` row of the newest answer of each item that has one, unless its part is gone."""
    runs: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for table in newest_answers(results, environment, item_ids):
        for row in table.select(["run_id", "leg", "manifest_row"]).to_pylist():
            runs[row["run_id"]].append((row["leg"], row["manifest_row"]))
    found: dict[str, Row] = {}
    for run_id, rows in runs.items():
        with suppress(ResultsError):
            plan = results.plan(run_id)
            names = {layout.verdicts_name(run_id, plan.run_date, shard_of(plan, row), leg) for leg, row in rows}
            for part in results.tables(sorted(names)):
                chosen = part.filter(pc.field("manifest_row").isin([row for _, row in rows]))
                found |= {str(row["item_id"]): row for row in chosen.to_pylist() if row["outcome"] in ANSWERED}
    return found
