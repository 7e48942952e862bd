"""Every row that some leg has finished: those of the snapshot, and those that it does not have yet."""

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from proofsweep.model import layout
from proofsweep.model.run_records import RunRecord
from proofsweep.model.runs import Plan
from proofsweep.store.journal import Segments
from proofsweep.store.legs import Legs
from proofsweep.store.newest_rows import HashedItems
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.run_index import RunIndex
from proofsweep.store.snapshot import Snapshot, legs_in


def known_rows(results: Results, environment: str, columns: Sequence[str]) -> Iterator[pa.Table]:
    """Give the rows of an environment: the snapshot's, then those of legs that work, were killed, or are not in it yet.

    Raises:
        ResultsError: the store cannot be read.
    """
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
    """Give the rows of the parts and journals of a run's legs that the snapshot does not hold."""
    if run.is_over and all(leg.leg in held for leg in run.legs):
        return
    names = results.parts_of("verdicts", run.plan)
    yield from results.tables([name for name in names if layout.leg_of(name) not in held], columns)
    for leg in map(int, results.store.folders(layout.journals_folder(run.plan.run_id))):
        segments = Segments(results, run.plan.run_id, leg)
        tables = (segments.table(name, columns) for name in segments.names("verdicts"))
        yield from (table for table in tables if table is not None)


_COLUMNS = ("item_id", "audio_version", "sidecar_version", "epoch", "finished_at", "outcome")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class AnswerTimes:
    """The newest time of each item and version in one environment; the first call reads them.

    Attributes:
        outcomes: rows with other ones do not count.
    """

    def __init__(self, results: Results, environment: str, outcomes: Sequence[str]) -> None:
        self.outcomes = outcomes
        self._results = results
        self._environment = environment
        self._hashes: memoryview | None = None
        self._times = memoryview(b"").cast("q")
        self._count = 0

    def of(self, item_id: str, audio_version: str | None, sidecar_version: str | None) -> datetime | None:
        """Say when an item was tried; None if it was not, or if its audio or its sidecar was another version.

        Raises:
            ResultsError: the store cannot be read.
        """
        if self._hashes is None:
            self._hashes, self._times = self._read()
        hashed = hash((item_id, audio_version, sidecar_version))
        place = bisect_right(self._hashes, hashed, 0, self._count) - 1
        if audio_version is None or place < 0 or self._hashes[place] != hashed:
            return None
        return _EPOCH + timedelta(microseconds=self._times[place])

    def _read(self) -> tuple[memoryview, memoryview]:
        hashes, epochs, times = array("q"), array("i"), array("q")
        is_wanted = pc.field("outcome").isin(self.outcomes) & pc.field("finished_at").is_valid()
        for table in known_rows(self._results, self._environment, _COLUMNS):
            rows = table.filter(is_wanted)
            names = (rows[name].to_pylist() for name in ("item_id", "audio_version", "sidecar_version"))
            hashes.extend(map(hash, zip(*names, strict=True)))
            epochs.extend(int(epoch or 0) for epoch in rows["epoch"].to_pylist())
            times.extend(int(time or 0) for time in pc.cast(rows["finished_at"], pa.int64()).to_pylist())
        columns = {"hash": pa.array(hashes, pa.int64()), "epoch": pa.array(epochs), "time": pa.array(times, pa.int64())}
        self._count = len(hashes)
        order = pc.sort_indices(pa.table(columns), sort_keys=[(name, "ascending") for name in columns])
        return _numbers(columns["hash"].take(order)), _numbers(columns["time"].take(order))


def _numbers(column: pa.Int64Array) -> memoryview:
    """Give whole numbers without an object for each."""
    return memoryview(column.buffers()[1] or b"").cast("q")
