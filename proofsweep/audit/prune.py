"""Delete what old runs hold besides what is newest; a kill at any point is healed by pruning again.

(1) an entry of the log names all that goes of a run, (2) what it names is deleted. What killed processes have left of
writes and plans goes too; nothing names that.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from functools import cache, partial
from itertools import chain
from typing import get_args

from proofsweep import __version__
from proofsweep.config.notices import say
from proofsweep.config.threads import some_at_once
from proofsweep.domain.errors import ResultsError, UsageError
from proofsweep.domain.items import Row
from proofsweep.domain.runs import began_at
from proofsweep.store import layout
from proofsweep.store.latest import Latest, newest_rows, refresh
from proofsweep.store.listings import newest_listings
from proofsweep.store.log import EntryKind
from proofsweep.store.objects import REQUESTS_AT_ONCE, delete_all
from proofsweep.store.parts import Pruning, Results
from proofsweep.store.runs import RunRecord, Runs

_LONGEST_PLANNING = timedelta(days=7)
_DAYS = re.compile(r"(\d{1,5})d")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prunable:
    old_runs: int  # how many runs are old enough, those included of which nothing can go
    begun: Sequence[Pruning]  # prunings that were decided before, and did not come to their end
    new: Sequence[Pruning]  # prunings that are not decided yet; nothing of them is written
    unfinished: Mapping[str, int]  # sizes in bytes of what killed processes have left of writes and plans, by name
    through: int  # the entry of the log up to which runs were looked at

    @property
    def all(self) -> list[Pruning]:
        return [*self.begun, *self.new]


def days_of(text: str) -> int:
    """Read an age in whole days, at least one: `400d`; UsageError if it cannot be read."""
    age = _DAYS.fullmatch(text.strip())
    if age is None or int(age[1]) < 1:
        raise UsageError(f"{text!r} is not an age in days; write it like 400d, and at least 1d.")
    return int(age[1])


def find_prunable(results: Results, days: int, now: datetime, environment: str | None = None) -> Prunable:
    """Find what can go of runs that ended at least so many days ago, of all environments or one; nothing is written.

    A part of `verdicts` stays if it has a newest row: of an item and environment the newest answer, or the newest row
    without one. The exchanges, the planned items and the journals go of each run that loses a part, or has none.
    ResultsError if there is no run, or the newest rows cannot be read.
    """
    store = results.store
    if not store.folders("_runs"):
        raise ResultsError(f"There is no run in {store.url}.")
    latest = Latest(results)
    runs = latest.runs
    begun = [pruning for pruning in _begun(results) if environment in {None, _environment_of(pruning.run_id, runs)}]
    old_runs = _old_runs(runs, now - timedelta(days=days), environment)
    search = _Search(
        results=results,
        days=days,
        now=now,
        newest=_newest_parts(results, latest),
        listing=_listing_runs(runs),
        sizes=cache(store.sizes),
    )
    # What is decided already is completed first. An open leg still reads and writes what its run has.
    begun_ids = {pruning.run_id for pruning in begun}
    undecided = [run for run in old_runs if run.plan.run_id not in begun_ids and not run.open]
    if runs.damaged:
        say("Nothing more is pruned while something of the log is missing: nobody knows what it would keep.")
        undecided = []
    prunings = some_at_once(undecided, search.pruning_of, REQUESTS_AT_ONCE)
    new = [pruning for pruning in prunings if pruning is not None]
    unfinished = store.unfinished_writes() | _unfinished_plans(results, runs)
    return Prunable(old_runs=len(old_runs), begun=begun, new=new, unfinished=unfinished, through=runs.through)


def _old_runs(runs: Runs, last: datetime, environment: str | None) -> list[RunRecord]:
    old_runs: list[RunRecord] = []
    for run in runs.newest_first():
        is_wanted = environment in {None, run.plan.environment}
        if is_wanted and run.legs and run.is_over and ended_at(run) <= last:
            old_runs.append(run)
    return old_runs


@dataclass(frozen=True, slots=True, kw_only=True)
class _Search:
    """Finds what can go of one run after the other; used by several threads."""

    results: Results
    days: int
    now: datetime
    newest: frozenset[str]  # parts that have a newest row
    listing: set[str]  # the runs that say what their catalogs list
    sizes: Callable[[str], Mapping[str, int]]  # of the objects in a folder

    def pruning_of(self, run: RunRecord) -> Pruning | None:
        run_id = run.plan.run_id
        # Nobody knows whether what is missing of it comes back, and holds newest answers.
        if self.results.incomplete_legs(run.plan):
            return None
        ended = self.results.ended_parts(run.plan).values()
        parts = [part.name for part in chain.from_iterable(ended)]
        going = set(parts) - self.newest - self.results.pruned_names(run_id)
        has_newest = not self.newest.isdisjoint(parts)
        # A run whose verdicts all stay keeps all else too.
        if has_newest and not any(name.startswith("verdicts/") for name in going):
            return None
        deleted = [name for name in parts if name in going]
        for folder in self._folders(run_id):
            deleted += sorted(self.sizes(folder))
        if not deleted:
            return None
        return Pruning(
            run_id=run_id,
            decided_at=self.now.isoformat(timespec="seconds"),
            older_than_days=self.days,
            is_whole=not has_newest and run_id not in self.listing,
            deleted={name: self._size_of(name) for name in deleted},
            proofsweep_version=__version__,
        )

    def _folders(self, run_id: str) -> list[str]:
        journals = layout.journals_folder(run_id)
        folders = [f"{journals}/{leg}" for leg in self.results.store.folders(journals)]
        if run_id not in self.listing:
            folders += [layout.items_folder(run_id), layout.items_folder(run_id, "listed")]
        return folders

    def _size_of(self, name: str) -> int:
        folder, _, _ = name.rpartition("/")
        return self.sizes(folder).get(name, 0)


def prune(results: Results, prunable: Prunable) -> list[Pruning]:
    """Delete what was found, unless another process has begun it; return the prunings that were completed."""
    # A base of earlier rows may need parts that go.
    refresh(results)
    decided = [*prunable.begun]
    for pruning in prunable.new:
        facts = asdict(pruning)
        run_id = facts.pop("run_id")
        decide = partial(_unless_changed, pruning, facts, prunable.through)
        results.log.append(EntryKind.PRUNED, run_id, decide)  # (1)
        if pruning in results.prunings_of(run_id):
            decided.append(pruning)
    results.log.keep()
    # The last object goes after all others: as long as it is there, a pruning that was killed is not complete.
    for pruning in decided:
        delete_all(results.store, pruning.deleted.keys() - {pruning.last})  # (2)
        results.store.delete(pruning.last)
    delete_all(results.store, prunable.unfinished)
    return decided


def _unless_changed(pruning: Pruning, facts: Row, through: int, runs: Runs) -> Row | None:
    # What was found may be old: another process has pruned the run since, or has gone on with it.
    run = runs.records.get(pruning.run_id)
    if run is None or run.open or any((leg.entry or 0) > through for leg in run.legs):
        return None
    if any(entry > through for entry in runs.prunings.get(pruning.run_id, ())):
        return None
    return facts


def _listing_runs(runs: Runs) -> set[str]:
    """Return the runs that say what their catalogs list, or will say it if somebody gives up an unfinished run."""
    newest_first = runs.newest_first()
    finished = [run for run in newest_first if run.is_over]
    listings = [*newest_listings(newest_first).values(), *newest_listings(finished).values()]
    return {run.plan.run_id for run in listings}


def _unfinished_plans(results: Results, runs: Runs) -> dict[str, int]:
    """Return the sizes of planned items without a plan in the log, by name."""
    store = results.store
    times = [planned_at for planned_at in map(_planned_at, runs.records) if planned_at is not None]
    if not times:
        return {}
    # No process plans for a week. Run IDs are of the service's clock, whatever this machine's says: so the newest run
    # tells how much time has passed.
    last = max(times) - _LONGEST_PLANNING
    sizes: dict[str, int] = {}
    for run_id in store.folders("_runs"):
        planned_at = _planned_at(run_id)
        is_known = runs.run(run_id) is not None or layout.kind_of(run_id)
        if is_known or planned_at is None or planned_at > last:
            continue
        # A run that has begun has lost its plan, and its items are what is left of it.
        if not store.folders(layout.legs_folder(run_id)):
            for which in get_args(layout.ItemList):
                sizes |= store.sizes(layout.items_folder(run_id, which))
    return sizes


def _planned_at(run_id: str) -> datetime | None:
    with suppress(ValueError):
        return began_at(run_id)
    return None


def _newest_parts(results: Results, latest: Latest) -> frozenset[str]:
    """Name the parts that hold newest rows, through the last entry of the log."""
    if not latest.entered:
        return frozenset(latest.base_parts())
    parts = set[str]()
    for table in newest_rows(results, latest.entered, latest.base):
        parts.update(map(str, table["part"].unique().to_pylist()))
    return frozenset(parts)


def _environment_of(run_id: str, runs: Runs) -> str | None:
    run = runs.run(run_id)
    return None if run is None else run.plan.environment


def _begun(results: Results) -> list[Pruning]:
    begun: list[Pruning] = []
    for run_id in results.log.runs().prunings:
        for pruning in results.prunings_of(run_id):
            is_left = pruning.deleted and results.store.read(pruning.last) is not None
            if is_left:
                begun.append(pruning)
    return begun


def ended_at(record: RunRecord) -> datetime:
    """Return when the last leg of a run ended; when the run was planned, if no leg says it."""
    planned_at = datetime.fromisoformat(record.plan.created_at)
    ends = [leg.finished_at for leg in record.legs if leg.finished_at]
    return max([*ends, planned_at])
