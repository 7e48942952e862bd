"""Delete what old runs hold besides what is newest; a kill at any point is healed by pruning again.

(1) an intent names all that goes of a run, (2) the ledger has an entry of each intent, (3) the objects are deleted, (4)
a receipt of each run says that they are, (5) the index forgets the runs that keep no row.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cache

from proofsweep import __version__
from proofsweep.domain.errors import NameTaken, ResultsError, UsageError
from proofsweep.store import layout
from proofsweep.store.latest import Latest, refresh
from proofsweep.store.ledger import EntryKind, Ledger
from proofsweep.store.legs import leg_numbers
from proofsweep.store.listings import newest_listings
from proofsweep.store.objects import REQUESTS_AT_ONCE
from proofsweep.store.parts import Part, Results, ended_parts
from proofsweep.store.prunings import (
    PrunedObject,
    Pruning,
    completed_at,
    pruned_names,
    prunings_of,
    wholly_pruned,
    write_intent,
    write_receipt,
)
from proofsweep.store.runs import IndexedRuns, RunIndex, RunRecord
from proofsweep.verify.commit import record_ended_legs

_DAYS = re.compile(r"(\d{1,5})d")


class Keep(StrEnum):
    """Which rows of old runs are kept.

    LATEST: of each item and environment the newest answer, and the newest row without one. Each part that holds such a
    row is kept whole.
    """

    LATEST = "latest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prunable:
    old_runs: int  # how many runs are old enough, those included of which nothing can go
    begun: Sequence[Pruning]  # prunings that were decided before, and did not come to their end
    new: Sequence[Pruning]  # prunings that are not decided yet; nothing of them is written

    @property
    def all(self) -> list[Pruning]:
        return [*self.begun, *self.new]


def days_of(text: str) -> int:
    """Read an age in whole days, at least one: `400d`; UsageError if it cannot be read."""
    found = _DAYS.fullmatch(text.strip())
    if found is None or int(found[1]) < 1:
        raise UsageError(f"{text!r} is not an age in days; write it like 400d, and at least 1d.")
    return int(found[1])


def find_prunable(results: Results, days: int, keep: Keep, now: datetime) -> Prunable:
    """Find what can go of runs that ended at least so many days ago; nothing is deleted.

    A part of `verdicts` stays if it has a newest row. The exchanges, the planned items and the journals go of each run
    that loses a part, or has none. ResultsError if there is no run, or the newest rows cannot be read.
    """
    if not results.store.folders("_runs"):
        raise ResultsError(f"There is no run in {results.store.url}.")
    record_ended_legs(results, RunIndex(results).refreshed())
    refresh(results)  # what has ended is in the base, or it stays
    latest = Latest(results)
    begun = _begun(results, latest.index)
    limit = now - timedelta(days=days)
    old = [run for run in latest.index.newest_first() if run.legs and run.is_over and _ended_at(run) <= limit]
    decision = _Decision(
        results=results,
        through=latest.base.through,
        listing={run.plan.run_id for run in newest_listings(latest.index.newest_first()).values()},
        newest=set(latest.base_parts()),
        sizes=cache(results.store.sizes),
        days=days,
        keep=keep,
        now=now,
        after_entry=Ledger(results.store).newest(),
    )
    taken = {pruning.run_id for pruning in begun}
    with ThreadPoolExecutor(REQUESTS_AT_ONCE) as pool:
        found = pool.map(decision.pruning_of, [run for run in old if run.plan.run_id not in taken])
        new = [pruning for pruning in found if pruning is not None]
    return Prunable(old_runs=len(old), begun=begun, new=new)


def prune(results: Results, prunable: Prunable, clock: Callable[[], datetime]) -> list[Pruning]:
    """Delete what was found, but for what another process has begun; return the prunings that were completed."""
    done = [*prunable.begun]
    for pruning in prunable.new:
        with suppress(NameTaken):
            write_intent(results.store, pruning)  # (1)
            done.append(pruning)
    if done:
        names = [layout.pruning_intent_name(each.run_id, each.number) for each in done]
        Ledger(results.store).append(EntryKind.PRUNING, *names)  # (2)
    with ThreadPoolExecutor(REQUESTS_AT_ONCE) as pool:
        for pruning in done:
            list(pool.map(results.store.delete, [each.name for each in pruning.deleted]))  # (3)
            write_receipt(results.store, pruning, clock())  # (4)
    index = RunIndex(results)
    forgotten = list(wholly_pruned(results.store, index.read().pruned))
    if forgotten:
        index.add([], pruned=forgotten)  # (5)
    return done


def _begun(results: Results, index: IndexedRuns) -> list[Pruning]:
    """Find the prunings without a receipt; the index has forgotten the runs that need not be looked at."""
    runs = (run_id for run_id in results.store.folders(layout.PRUNED_FOLDER) if run_id not in index.pruned)
    last = (pruning for run_id in runs for pruning in prunings_of(results.store, run_id)[-1:])
    return [pruning for pruning in last if completed_at(results.store, pruning) is None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Decision:
    results: Results
    through: int  # the entry of the ledger through which the newest rows are known
    listing: Collection[str]  # the runs that say what a catalog lists now
    newest: Collection[str]  # names of the parts in which the rows of the base are
    sizes: Callable[[str], dict[str, int]]  # lists a folder of the store
    days: int
    keep: Keep
    now: datetime
    after_entry: int  # the newest of the ledger

    def pruning_of(self, run: RunRecord) -> Pruning | None:
        """Return what goes of a run; None if a further leg has begun, or if all its parts are kept."""
        store, run_id = self.results.store, run.plan.run_id
        if leg_numbers(store, run.plan) != [leg.leg for leg in run.legs]:
            return None
        if any(leg.entry is None or leg.entry > self.through for leg in run.legs):
            return None
        gone = pruned_names(store, run_id)
        parts = [part for parts in ended_parts(store, run.plan).values() for part in parts if part.name not in gone]
        kept = tuple(part.name for part in parts if part.name in self.newest)
        deleted = [self._object_of(part) for part in parts if part.name not in self.newest]
        if kept and not any(each.name.startswith("verdicts/") for each in deleted):
            return None
        deleted += self._internal_objects_of(run_id)
        if not deleted:
            return None
        return Pruning(
            run_id=run_id,
            number=len(prunings_of(store, run_id)) + 1,
            decided_at=self.now.isoformat(timespec="seconds"),
            run_ended_at=_ended_at(run).isoformat(timespec="seconds"),
            older_than_days=self.days,
            keep=self.keep,
            kept=kept,
            deleted=tuple(deleted),
            after_entry=self.after_entry,
            proofsweep_version=__version__,
        )

    def _object_of(self, part: Part) -> PrunedObject:
        size = self.sizes(part.name.rpartition("/")[0]).get(part.name, 0)
        return PrunedObject(name=part.name, size_bytes=size, rows=part.rows, sha256=part.sha256)

    def _internal_objects_of(self, run_id: str) -> Iterator[PrunedObject]:
        journals = layout.journals_folder(run_id)
        folders = [f"{journals}/{leg}" for leg in self.results.store.folders(journals)]
        listed = [layout.items_folder(run_id), layout.listed_folder(run_id)]
        for folder in [*([] if run_id in self.listing else listed), *folders]:
            for name, size in sorted(self.sizes(folder).items()):
                yield PrunedObject(name=name, size_bytes=size)


def _ended_at(record: RunRecord) -> datetime:
    """Return when the last leg of a run ended; when the run was planned, if no leg says it."""
    told = [str(leg.counts["finished_at"]) for leg in record.legs if leg.counts.get("finished_at")]
    return max(map(datetime.fromisoformat, [*told, record.plan.created_at]))
