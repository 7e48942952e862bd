"""The index of runs: what a list of runs needs, so that no reader has to open each run. Derived.

Each record is that of a whole run. Of two records of a run the one that knows more ended legs counts, so the order in
which processes write them does not matter.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from proofsweep.config.locations import resolved_location
from proofsweep.domain.errors import ResultsError
from proofsweep.domain.runs import Plan
from proofsweep.store.layout import INDEX_FOLDER
from proofsweep.store.legs import Legs
from proofsweep.store.objects import REQUESTS_AT_ONCE
from proofsweep.store.parts import Results, has_claim, plan_of
from proofsweep.store.prunings import wholly_pruned
from proofsweep.store.run_records import RECEIPT_MEMBERS, LegRecord, RunRecord, epoch_at
from proofsweep.store.snapshot import DerivedLog, Entry

# Entries of the index before they become one.
_MOST_ENTRIES = 4
_SETTLING = timedelta(days=1)
_WATCHED = 10
_NONE: Mapping[str, Sequence[str]] = {}


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
        return epoch_at(self.refreshed().records.values(), self._clock())

    def record_of(self, run_id: str) -> RunRecord | None:
        """Read a run from its plan and receipts; None if it has no plan."""
        try:
            plan = self._results.plan(run_id)
        except (ResultsError, ValueError):
            return None
        legs = Legs(self._results, run_id)
        ended = [
            LegRecord(leg=number, receipt={name: receipt.get(name) for name in RECEIPT_MEMBERS})
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
        return [run.plan.run_id for run in unfinished if has_claim(store, run.plan.run_id, len(run.legs) + 1)]

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
