"""Delete what old runs hold besides what is newest; a kill at any point is healed by pruning again.

(1) an entry of the log names all that goes of a run, (2) what it names is deleted. What killed processes have left of
writes and plans goes too; nothing names that.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from functools import cache, partial
from typing import get_args

from proofsweep import __version__
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
    found = _DAYS.fullmatch(text.strip())
    if found is None or int(found[1]) < 1:
        raise UsageError(f"{text!r} is not an age in days; write it like 400d, and at least 1d.")
    return int(found[1])


def find_prunable(results: Results, days: int, now: datetime, environment: str | None = None) -> Prunable:
    """Find what can go of runs that ended at least so many days ago, of all environments or one; nothing is written.

    A part of `verdicts` stays if it has a newest row: of an item and environment the newest answer, or the newest row
    without one. The exchanges, the planned items and the journals go of each run that loses a part, or has none.
    ResultsError if there is no run, or the newest rows cannot be read.
    """
    if not results.store.folders("_runs"):
        raise ResultsError(f"There is no run in {results.store.url}.")
    latest = Latest(results)
    begun = [each for each in _begun(results) if environment in {None, _environment_of(each.run_id, latest.runs)}]
    taken = {pruning.run_id for pruning in begun}
    every = (run for run in latest.runs.newest_first() if environment in {None, run.plan.environment})
    runs = [run for run in every if run.legs and run.is_over]
    old_runs = [run for run in runs if ended_at(run) <= now - timedelta(days=days)]
    listing = {run.plan.run_id for run in newest_listings(latest.runs.newest_first()).values()}
    newest, sizes = _newest_parts(results, latest), cache(results.store.sizes)

    def pruning_of(run: RunRecord) -> Pruning | None:
        run_id, journals = run.plan.run_id, layout.journals_folder(run.plan.run_id)
        if run_id in taken or run.open:
            return None
        parts = [part.name for each in results.ended_parts(run.plan).values() for part in each]
        earlier = results.prunings_of(run_id)
        gone = set(parts) - newest - {name for each in earlier for name in each.deleted}
        if newest.intersection(parts) and not any(name.startswith("verdicts/") for name in gone):
            return None
        folders = [f"{journals}/{leg}" for leg in results.store.folders(journals)]
        if run_id not in listing:  # else it says what its catalog lists now
            folders += [layout.items_folder(run_id), layout.items_folder(run_id, "listed")]
        deleted = [name for name in parts if name in gone]
        deleted += [name for folder in folders for name in sorted(sizes(folder))]
        pruning = Pruning(
            run_id=run_id,
            decided_at=now.isoformat(timespec="seconds"),
            older_than_days=days,
            is_whole=newest.isdisjoint(parts) and run_id not in listing,
            deleted={name: sizes(name.rpartition("/")[0]).get(name, 0) for name in deleted},
            proofsweep_version=__version__,
        )
        return pruning if deleted else None

    new = [pruning for pruning in some_at_once(old_runs, pruning_of, REQUESTS_AT_ONCE) if pruning is not None]
    unfinished = results.store.unfinished_writes() | _unfinished_plans(results, latest.runs)
    through = latest.runs.through
    return Prunable(old_runs=len(old_runs), begun=begun, new=new, unfinished=unfinished, through=through)


def prune(results: Results, prunable: Prunable) -> list[Pruning]:
    """Delete what was found, but for what another process has begun; return the prunings that were completed."""
    refresh(results)  # a base of earlier rows may need parts that go
    done = [*prunable.begun]
    for pruning in prunable.new:
        facts = asdict(pruning)
        run_id = facts.pop("run_id")
        decide = partial(_unless_changed, pruning, facts, prunable.through)
        results.log.append(EntryKind.PRUNED, run_id, decide)  # (1)
        if pruning in results.prunings_of(run_id):
            done.append(pruning)
    results.log.keep()
    for pruning in done:
        delete_all(results.store, pruning.deleted.keys() - {pruning.last})  # (2)
        results.store.delete(pruning.last)
    delete_all(results.store, prunable.unfinished)
    return done


def _unless_changed(pruning: Pruning, facts: Row, through: int, runs: Runs) -> Row | None:
    """Leave a run alone that another process has pruned or gone on with since.

    Or that says by now what its catalog lists, as a later run was given up.
    """
    run = runs.records.get(pruning.run_id)
    if run is None or run.open or any((leg.entry or 0) > through for leg in run.legs):
        return None
    if any(entry > through for entry in runs.prunings.get(pruning.run_id, ())):
        return None
    is_listing = pruning.run_id in {each.plan.run_id for each in newest_listings(runs.newest_first()).values()}
    return None if is_listing and pruning.takes_list else facts


def _unfinished_plans(results: Results, runs: Runs) -> dict[str, int]:
    """Return the sizes of planned items without a plan in the log, by name, if a run was planned a week later or more.

    No process plans for so long, and run IDs are of the service's clock, whatever this machine's says.
    """
    store = results.store
    newest = max((at for run_id in runs.records if (at := _planned_at(run_id)) is not None), default=None)
    found: dict[str, int] = {}
    for run_id in store.folders("_runs"):
        is_known = runs.run(run_id) is not None or layout.kind_of(run_id)
        planned_at = _planned_at(run_id)
        if is_known or newest is None or planned_at is None or newest - planned_at < _LONGEST_PLANNING:
            continue
        # A run that has begun has lost its plan, and its items are what is left of it.
        if not store.folders(layout.legs_folder(run_id)):
            for which in get_args(layout.ItemList):
                found |= store.sizes(layout.items_folder(run_id, which))
    return found


def _planned_at(run_id: str) -> datetime | None:
    with suppress(ValueError):
        return began_at(run_id)
    return None


def _newest_parts(results: Results, latest: Latest) -> frozenset[str]:
    """Name the parts that hold newest rows, through the last entry of the log."""
    if not latest.entered:
        return frozenset(latest.base_parts())
    tables = newest_rows(results, latest.entered, latest.base)
    return frozenset(str(part) for table in tables for part in table["part"].unique().to_pylist())


def _environment_of(run_id: str, runs: Runs) -> str | None:
    run = runs.run(run_id)
    return None if run is None else run.plan.environment


def _begun(results: Results) -> list[Pruning]:
    every = [pruning for run_id in results.log.runs().prunings for pruning in results.prunings_of(run_id)]
    return [pruning for pruning in every if pruning.deleted and results.store.read(pruning.last) is not None]


def ended_at(record: RunRecord) -> datetime:
    """Return when the last leg of a run ended; when the run was planned, if no leg says it."""
    told = [leg.finished_at for leg in record.legs if leg.finished_at]
    return max([*told, datetime.fromisoformat(record.plan.created_at)])
