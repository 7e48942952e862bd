"""Every row that some leg has finished, those of the snapshot and those that it does not have yet; what they tell.

When an item was answered, its newest answer, which bytes were accepted, and what can be sent again as a control.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import chain, islice
from threading import Lock
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc

from proofsweep.domain.errors import ResultsError
from proofsweep.domain.items import PROOF_PREFIX, Mode, Row, sidecar_key
from proofsweep.domain.runs import Plan, shard_of
from proofsweep.store import layout
from proofsweep.store.journal import Segments
from proofsweep.store.legs import Legs
from proofsweep.store.parts import Results
from proofsweep.store.runs import RunIndex, RunRecord
from proofsweep.store.schemas import SCHEMAS
from proofsweep.store.snapshot import COLUMNS, Snapshot, SnapshotFile, files_of, legs_in, merged
from proofsweep.store.tables import ANSWERED

_OF_ANSWER = (
    *("item_id", "audio_version", "sidecar", "sidecar_version", "epoch", "finished_at", "outcome"),
    *("audio_bytes", "audio_sha256"),
)
_OF_SIZE = ("item_id", "audio_bytes", "sidecar")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# So many item IDs are kept as text, to read only the files of the snapshot that may hold one.
_FEW_ITEMS = 5_000
# Accepted files that are kept of each mode: so many of the smallest and of the largest.
_KEPT = 32
_OF_ACCEPTED = ["audio_bytes", "audio", "sidecar", "audio_sha256", "sidecar_sha256"]
_OF_ACCEPTANCE = [*_OF_ACCEPTED, "mode", "proof_id"]


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
    epoch, time = Legs(results.store, plan.run_id).epoch(1), datetime.fromisoformat(plan.created_at)
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
        for table in known_rows(self._results, self._environment, _OF_ANSWER):
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


@dataclass(frozen=True, slots=True, order=True)
class AcceptedItem:
    """An item that the service accepted, ordered by its size in bytes; the digests are of the bytes that were sent."""

    audio_bytes: int
    audio: str
    sidecar: str | None
    audio_sha256: str
    sidecar_sha256: str | None

    @property
    def mode(self) -> Mode:
        return Mode.ONE_FILE if self.sidecar is None else Mode.LEGACY_PAIR


class PastAnswers:
    """Reads the store once, with the first question; safe to use from several threads.

    The acceptances of all runs in this environment count, those of earlier legs of this one too.
    """

    def __init__(self, results: Results, plan: Plan) -> None:
        self._results = results
        self._plan = plan
        self._digests: HashedItems | None = None
        self._reading = Lock()
        self._failures: list[str] = []
        self._kept = pa.table({})

    def was_accepted(self, mode: Mode, audio_sha256: str, sidecar_sha256: str | None) -> bool:
        """Whether these bytes were accepted in this mode; ResultsError if the store cannot be read."""
        self._read_once()
        return self._digests is not None and f"{mode} {audio_sha256} {sidecar_sha256 or ''}" in self._digests

    def accepted(self) -> list[AcceptedItem]:
        """Return the smallest and the largest accepted files of each mode, without those whose proofs were erased."""
        self._read_once()
        return [AcceptedItem(**row) for row in self._kept.select(_OF_ACCEPTED).to_pylist()]

    def files_read(self, most: int) -> list[str]:
        """Name audio files that earlier legs of this run read to their end, the last ones first."""
        found: list[str] = []
        for name in reversed(self._results.parts_of("verdicts", self._plan)):
            part = self._results.table("verdicts", [name], ["audio", "audio_sha256"])
            found += map(str, part["audio"].filter(pc.is_valid(part["audio_sha256"])).to_pylist()[::-1])
            if len(found) >= most:
                break
        return found[:most]

    def _read_once(self) -> None:
        """Read unless it is done; what failed while a thread waited to read fails for it too.

        A store that is away fails after many seconds, and each of a hundred threads would wait for all before it.
        """
        failures = len(self._failures)
        with self._reading:
            if len(self._failures) > failures:
                raise ResultsError(self._failures[-1])
            if self._digests is None:
                self._read()

    def _read(self) -> None:
        self._kept = pa.Table.from_batches([], schema=pa.schema(map(SCHEMAS["verdicts"].field, _OF_ACCEPTANCE)))
        try:
            self._digests = HashedItems(self._noted())
        except ResultsError as error:
            self._failures.append(error.message)
            raise

    def _noted(self) -> Iterator[str]:
        erased = pa.array(self._erased(), pa.string())
        is_wanted = pc.field("accepted") & pc.field("audio_sha256").is_valid()
        for rows in self._tables([*_OF_ACCEPTANCE, "accepted"]):
            table = rows.filter(is_wanted).select(_OF_ACCEPTANCE)
            columns = [table[name] for name in ("mode", "audio_sha256", "sidecar_sha256")]
            joined = pc.binary_join_element_wise(*columns, pa.scalar(" "), null_handling="replace")  # type: ignore[call-overload]  # the stubs want no scalar
            yield from joined.to_pylist()
            is_lost = pc.or_(pc.is_in(table["proof_id"], erased), pc.starts_with(table["audio"], PROOF_PREFIX))
            self._kept = _smallest_and_largest(pa.concat_tables([self._kept, table.filter(pc.invert(is_lost))]))

    def _tables(self, columns: list[str]) -> Iterator[pa.Table]:
        """Read all rows; only those of this run where what is derived is damaged."""
        self._results.store.read(layout.plan_name(self._plan.run_id))  # raises if the store itself is away
        try:
            yield from known_rows(self._results, self._plan.environment, columns)
        except ResultsError:
            yield from self._results.tables(self._results.parts_of("verdicts", self._plan), columns)

    def _erased(self) -> list[str]:
        """Return the proofs that were erased on our demand: their items are refused since then."""
        parts = self._results.tables(self._results.all_parts("erasures"), ["proof_id"])
        return [str(proof_id) for part in parts for proof_id in part["proof_id"].to_pylist()]


def _smallest_and_largest(accepted: pa.Table) -> pa.Table:
    kept = []
    for mode in Mode:
        rows = accepted.filter(pc.field("mode") == str(mode)).sort_by("audio_bytes")
        kept += [rows] if len(rows) <= 2 * _KEPT else [rows.slice(0, _KEPT), rows.slice(len(rows) - _KEPT)]
    return pa.concat_tables(kept)
