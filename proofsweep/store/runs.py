"""Runs as a list of them knows each: its plan and its ended legs; and the index that spares a reader to open each run.

The index is derived. Each record is that of a whole run. Of two records of a run the one that knows more ended legs
counts, so the order in which processes write them does not matter.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from proofsweep.config.locations import resolved_location
from proofsweep.domain.endings import ending_of
from proofsweep.domain.errors import ResultsError
from proofsweep.domain.items import Row
from proofsweep.domain.runs import Plan
from proofsweep.store.layout import INDEX_FOLDER
from proofsweep.store.legs import Legs
from proofsweep.store.objects import REQUESTS_AT_ONCE
from proofsweep.store.parts import Results, plan_of
from proofsweep.store.prunings import wholly_pruned
from proofsweep.store.snapshot import DerivedLog, Entry, legs_in

# What readers need of a receipt; its parts and digests stay in the receipt alone.
_RECEIPT_MEMBERS = ("ended_by", "counts", "why", "quota_reset", "cpu_seconds", "duplicates")

# Entries of the index before they become one.
_MOST_ENTRIES = 4
_SETTLING = timedelta(days=1)
# Unfinished runs of which a reader looks whether a further leg has begun.
_WATCHED = 10
_NONE: Mapping[str, Sequence[str]] = {}


class LegPace(NamedTuple):
    call_seconds: float | None = None  # of all calls of a row together; None if not measured
    upload_seconds: float | None = None  # of these, of its form posts
    let_through: float | None = None  # calls per second between two refusals, at most; None if there were none


@dataclass(frozen=True, slots=True, kw_only=True)
class LegRecord:
    leg: int
    receipt: Mapping[str, object]  # of its receipt, the `_RECEIPT_MEMBERS`
    # its rows by outcome, verdict and reason, each with `rows` and an `example`; None if nobody counted.
    groups: Sequence[Row] | None = None
    pace: Sequence[Any] | None = None  # the members of its `LegPace`; None if it was not measured

    @property
    def counts(self) -> Mapping[str, object]:
        """The leg's row of `runs`; empty if its receipt has none."""
        counts = self.receipt.get("counts")
        return counts if isinstance(counts, dict) else {}

    @property
    def epoch(self) -> int:
        """Its epoch: of two legs of different ones, the later one's rows are newer."""
        return self.count("epoch")

    @property
    def finished_at(self) -> datetime | None:
        ended = self.counts.get("finished_at")
        return None if ended is None else datetime.fromisoformat(str(ended))

    def count(self, column: str) -> int:
        """Return a whole number of its row of `runs`; 0 if its receipt has none."""
        found = self.counts.get(column)
        return found if isinstance(found, int) else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """A run and its ended legs, the oldest first."""

    plan: Plan
    legs: Sequence[LegRecord] = ()

    @property
    def remaining(self) -> int:
        found = self.legs[-1].counts.get("remaining") if self.legs else None
        return found if isinstance(found, int) else self.plan.items

    @property
    def is_over(self) -> bool:
        """Whether nobody needs to go on with it: no row remains, or it was superseded."""
        return not self.remaining or self.is_superseded

    @property
    def is_superseded(self) -> bool:
        endings = (ending_of(leg.receipt.get("ended_by")) for leg in self.legs)
        return any(ending is not None and not ending.goes_on for ending in endings)

    def is_newer_than(self, other: "RunRecord | None") -> bool:
        """Return whether this record knows more: legs only end, they never come back."""
        return other is None or self._knowledge() > other._knowledge()  # noqa: SLF001 - the same class

    def document(self) -> dict[str, object]:
        return {"plan": asdict(self.plan), "legs": [asdict(leg) for leg in self.legs]}

    def clock_readings(self) -> Iterator[tuple[int, datetime]]:
        """Return when it was planned and when its legs ended, each with the epoch in which a clock said so."""
        yield 0, datetime.fromisoformat(self.plan.created_at)
        for leg in self.legs:
            if leg.finished_at is not None:
                yield leg.epoch, leg.finished_at

    def _knowledge(self) -> tuple[int, int]:
        return len(self.legs), sum(leg.groups is not None for leg in self.legs)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedRuns:
    records: Mapping[str, RunRecord] = field(default_factory=dict)  # by run ID
    # environment and catalog identity of the runs of which a pruning left no row, by run ID.
    pruned: Mapping[str, Sequence[str]] = field(default_factory=dict)
    complete_to: str = ""  # each run up to this ID is in the index; empty if older runs were never indexed

    def newest_first(self) -> Iterator[RunRecord]:
        """Return the runs, the newest first; those of a retired catalog bear the identity of the one in its place."""
        retired: dict[tuple[str, str], str] = {}
        for run in self.in_order():
            plan = run.plan
            retired |= {(plan.environment, identity): plan.identity for identity in plan.retired}
            named = retired.get((plan.environment, plan.identity))
            yield run if named is None else replace(run, plan=replace(plan, catalog_identity=named))

    def in_order(self) -> Iterator[RunRecord]:
        """Return the runs as they were planned, the newest first."""
        return (self.records[run_id] for run_id in sorted(self.records, reverse=True))

    def plans(self, environment: str | None = None, catalog: str | None = None) -> list[Plan]:
        """Return the plans of an environment and of a catalog, the newest first; none that was superseded."""
        plans = [run.plan for run in self.newest_first() if not run.is_superseded]
        if catalog is not None:
            names = {catalog, resolved_location(catalog)}
            plans = [plan for plan in plans if plan.identity in names or plan.catalog == catalog]
        return [plan for plan in plans if environment in {None, plan.environment}]


def newest_whole(plans: Sequence[Plan]) -> Plan | None:
    """Return the first of some plans that is of a whole catalog; one of a part only if there is nothing else."""
    return next((plan for plan in plans if not plan.has_chosen_rows), next(iter(plans), None))


class RunIndex:
    def __init__(self, results: Results, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._results = results
        self._clock = clock
        self._log = DerivedLog(results.store, INDEX_FOLDER, clock)

    def read(self) -> IndexedRuns:
        """Read the index as it is; runs of the last day may be missing, and older ones if it is not complete."""
        return _merged(self._log.entries())

    def refreshed(self, *, most: int | None = None) -> IndexedRuns:
        """Read the index, and what it misses from the newest `most` runs themselves; keep that for the next reader.

        A damaged index is made anew.
        """
        damaged: Sequence[str] = ()
        try:
            index = _merged(self._log.entries())
        except ResultsError:
            index, damaged = IndexedRuns(), self._log.names()
        if not index.complete_to:
            index = _merged_with(index, [], pruned=self._catalogs_of(wholly_pruned(self._results.store, index.pruned)))
        missing = [
            name
            for name in self._results.store.folders("_runs", index.complete_to)
            if name not in index.records and name not in index.pruned
        ]
        chosen = missing if most is None else missing[-most:]
        complete_to = index.complete_to if len(chosen) < len(missing) else self._complete_to(index, missing)
        found = self._records([*chosen, *self._outdated(index)])
        new = [record for record in found if record.is_newer_than(index.records.get(record.plan.run_id))]
        if new or (complete_to and not index.complete_to and index.records):
            with suppress(ResultsError):  # a reader may have no right to write
                self._add(IndexedRuns(records=_by_id(new), pruned=index.pruned, complete_to=complete_to), damaged)
        return _merged_with(index, new, complete_to)

    def add(self, records: Iterable[RunRecord], *, pruned: Iterable[str] = ()) -> None:
        """Write what is known of some runs; fold the index's entries if they are many."""
        self._add(IndexedRuns(records=_by_id(records), pruned=self._catalogs_of(pruned)))

    def _add(self, new: IndexedRuns, damaged: Sequence[str] = ()) -> None:
        is_many = not damaged and len(self._log.names()) >= _MOST_ENTRIES
        entries = self._log.entries() if is_many else []
        folded = entries if len(entries) >= _MOST_ENTRIES else []
        whole = _merged_with(_merged(folded), new.records.values(), new.complete_to, new.pruned)
        runs = [record.document() for record in whole.in_order()]
        body: dict[str, object] = {"runs": runs, "pruned": whole.pruned, "complete_to": whole.complete_to}
        self._log.add(body, replaced=folded, also=damaged)

    def epoch(self) -> int:
        """Return the epoch of a leg that begins now: later than that of each leg which has ended later by its clock.

        So of two legs that were not at work at the same time the later one's rows are newer, whatever the clocks said.
        """
        now, runs = self._clock(), self.refreshed().records.values()
        return max((epoch + (at > now) for run in runs for epoch, at in run.clock_readings()), default=0)

    def record_of(self, run_id: str) -> RunRecord | None:
        """Read a run from its plan and receipts; None if it has no plan."""
        try:
            plan = self._results.plan(run_id)
        except (ResultsError, ValueError):
            return None
        legs = Legs(self._results.store, run_id)
        ended = [
            LegRecord(leg=number, receipt={name: receipt.get(name) for name in _RECEIPT_MEMBERS})
            for number in legs.numbers()
            if (receipt := legs.receipt(number)) is not None
        ]
        return RunRecord(plan=plan, legs=ended)

    def _records(self, run_ids: Iterable[str]) -> list[RunRecord]:
        with ThreadPoolExecutor(REQUESTS_AT_ONCE) as pool:
            return [record for record in pool.map(self.record_of, run_ids) if record is not None]

    def _catalogs_of(self, run_ids: Iterable[str]) -> dict[str, Sequence[str]]:
        plans = (record.plan for record in self._records(run_ids))
        return {plan.run_id: (plan.environment, plan.identity) for plan in plans}

    def _outdated(self, index: IndexedRuns) -> list[str]:
        unfinished = [record for record in index.newest_first() if not record.is_over][:_WATCHED]
        store = self._results.store
        return [run.plan.run_id for run in unfinished if Legs(store, run.plan.run_id).is_taken(len(run.legs) + 1)]

    def _complete_to(self, index: IndexedRuns, missing: Iterable[str]) -> str:
        limit = f"{self._clock() - _SETTLING:%Y%m%dT%H%M%SZ}"
        settled = [name for name in (*index.records, *missing) if name < limit]
        return max(settled, default=index.complete_to)


def _by_id(records: Iterable[RunRecord]) -> dict[str, RunRecord]:
    return {record.plan.run_id: record for record in records}


def _merged(entries: Iterable[Entry]) -> IndexedRuns:
    whole = IndexedRuns()
    for entry in entries:
        body: dict[str, Any] = entry.body
        whole = _merged_with(whole, map(_record, body["runs"]), body["complete_to"], body["pruned"])
    return whole


def _merged_with(
    index: IndexedRuns, records: Iterable[RunRecord], complete_to: str = "", pruned: Mapping[str, Sequence[str]] = _NONE
) -> IndexedRuns:
    merged = dict(index.records)
    for record in records:
        if record.is_newer_than(merged.get(record.plan.run_id)):
            merged[record.plan.run_id] = record
    gone = {**index.pruned, **pruned}
    kept = {name: record for name, record in merged.items() if name not in gone}
    return IndexedRuns(records=kept, pruned=gone, complete_to=max(index.complete_to, complete_to))


def _record(document: dict[str, Any]) -> RunRecord:
    return RunRecord(plan=plan_of(document["plan"]), legs=[LegRecord(**leg) for leg in document["legs"]])


def missing_legs(entries: Iterable[Entry], runs: Iterable[RunRecord]) -> Iterator[tuple[Plan, list[int]]]:
    """Yield the ended legs of some runs that no entry holds the rows of."""
    held = legs_in(entries)
    for run in runs:
        legs = [leg.leg for leg in run.legs if leg.leg not in held.get(run.plan.run_id, [])]
        if legs:
            yield run.plan, legs
