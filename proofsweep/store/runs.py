"""Runs as a list of them knows each: its plan and its ended legs; and the index that spares a reader to open each run.

The index is derived: one object, which whoever knows more replaces. Each says up to where it is whole, so it does not
matter if an older one comes last: the next reader reads what it lacks.
"""

import gzip
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from itertools import count
from typing import Annotated

from pydantic import AfterValidator, TypeAdapter, ValidationError

from proofsweep.config.locations import resolved_location
from proofsweep.config.threads import some_at_once, utc_now
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import NameTaken, ResultsError
from proofsweep.domain.items import Row
from proofsweep.domain.runs import OUTCOMES, Plan, began_at
from proofsweep.domain.text import printable
from proofsweep.store.layout import INDEX_NAME, RETIRED_FOLDER, kind_of, plan_name, retired_name
from proofsweep.store.lease import Lease, receipts_of
from proofsweep.store.ledger import Ledger
from proofsweep.store.objects import REQUESTS_AT_ONCE, Store, json_bytes
from proofsweep.store.parts import PLAN, Results, prunings_of
from proofsweep.store.rows import with_instants

_SETTLING = timedelta(days=7)  # in which a run may still be planned whose ID is older than those of others
_RECEIPT = re.compile(r"_runs/([^/]+)/legs/(\d+)/receipt\.json")
_PRUNING = re.compile(r"_pruned/([^/]+)-\d+\.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class LegRecord:
    """One leg by its receipt; while it lasts, nothing is known of it."""

    leg: int
    entry: int | None = None  # its number in the ledger; None while it has none
    ended_by: str | None = None
    why: str | None = None
    counts: Annotated[Row, AfterValidator(partial(with_instants, "runs"))] = field(default_factory=dict)  # of `runs`
    quota_reset: datetime | None = None  # as the service last said to the leg
    duplicates: int | None = None  # rows that another row, or another run, has answered
    row_seconds: Sequence[float] = ()  # of all calls of a row, and of its form posts alone, on average
    check_calls: int = 0  # keyed calls that were checks, which belong to no row
    in_doubt: Sequence[int] = ()  # rows that were tried, and no check could decide about them
    is_given_up: bool = False  # by a person, with all of its run

    @classmethod
    def of(cls, leg: int, receipt: Row, entry: int | None = None) -> "LegRecord":
        """Read a receipt; ResultsError if it is damaged."""
        try:
            return _LEG.validate_python({**receipt, "leg": leg, "entry": entry})
        except ValidationError as damage:
            where = f"The receipt of leg {leg} of run {receipt.get('run_id')}"
            raise ResultsError(f"{where} is damaged. Restore it from a backup.") from damage

    @property
    def rows(self) -> int:
        return sum(map(self.count, OUTCOMES))

    @property
    def started_at(self) -> datetime | None:
        return _instant(self.counts.get("started_at"))

    @property
    def finished_at(self) -> datetime | None:
        return _instant(self.counts.get("finished_at"))

    @property
    def seconds(self) -> float:
        began, ended = self.started_at, self.finished_at
        return 0.0 if began is None or ended is None else (ended - began).total_seconds()

    def count(self, column: str) -> int:
        """Return a whole number of its row of `runs`; 0 if its receipt has none."""
        found = self.counts.get(column)
        return found if isinstance(found, int) else 0


def _instant(cell: object) -> datetime | None:
    return cell if isinstance(cell, datetime) else None


_LEG = TypeAdapter(LegRecord)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """A run and its ended legs, the oldest first."""

    plan: Plan
    legs: Sequence[LegRecord] = ()

    @property
    def is_complete(self) -> bool:
        complete = {self.plan.partition_of_leg(leg.leg) for leg in self.legs if leg.ended_by == EndedBy.COMPLETE}
        return len(complete) == self.plan.partitions

    @property
    def remaining(self) -> int:
        """How many rows have no outcome: the fewest that a leg has left; a leg may have missed parts of another."""
        if self.is_complete:
            return 0
        left = (leg.counts.get("remaining") for leg in self.legs)
        return min((found for found in left if isinstance(found, int)), default=self.plan.items)

    @property
    def is_over(self) -> bool:
        """Whether nobody needs to go on with it: a killed leg may have published its rows, but not its exchanges."""
        return self.is_complete or self.is_superseded

    @property
    def is_superseded(self) -> bool:
        return any(leg.ended_by == EndedBy.SUPERSEDED for leg in self.legs)

    @property
    def is_given_up(self) -> bool:
        return any(leg.is_given_up for leg in self.legs)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedRuns:
    records: Mapping[str, RunRecord] = field(default_factory=dict)  # by run ID
    # environment and catalog identity of the runs of which a pruning left no row, by run ID.
    pruned: Mapping[str, Sequence[str]] = field(default_factory=dict)
    complete_to: str = ""  # each run up to this ID is in the index; empty if older runs were never indexed
    entries_to: int = 0  # each leg that the ledger has up to this entry is in the index
    retired: Sequence[str] = field(default_factory=list)  # the last runs of catalogs that a person retired

    def newest_first(self) -> Iterator[RunRecord]:
        return iter([run for _, run in sorted(self.records.items(), reverse=True)])

    def counted_first(self) -> list[RunRecord]:
        """Return the runs that count, the newest first: a catalog that is retired counts with later runs alone."""
        through: dict[tuple[str, str], str] = {}
        for run_id in sorted(self.retired):
            if (catalog := self._catalog_of(run_id)) is not None:
                through[catalog] = run_id
        runs = self.newest_first()
        return [run for run in runs if run.plan.run_id > through.get((run.plan.environment, run.plan.identity), "")]

    def _catalog_of(self, run_id: str) -> tuple[str, str] | None:
        """Return the environment and the identity of a run's catalog; None if the run is not known."""
        if (run := self.records.get(run_id)) is not None:
            return run.plan.environment, run.plan.identity
        if (pruned := self.pruned.get(run_id)) is not None:
            environment, identity = pruned
            return environment, identity
        return None

    @property
    def environments(self) -> set[str]:
        return {run.plan.environment for run in self.records.values()}

    def plans(self, environment: str | None = None, catalog: str | None = None) -> list[Plan]:
        """Return the plans of an environment and of a catalog, the newest first.

        None that was superseded, and none of a catalog that is retired.
        """
        plans = [run.plan for run in self.counted_first() if not run.is_superseded]
        if catalog is not None:
            names = {catalog, resolved_location(catalog)}
            plans = [plan for plan in plans if plan.identity in names or plan.catalog == catalog]
        return [plan for plan in plans if environment in {None, plan.environment}]


_INDEX = TypeAdapter(IndexedRuns)


def retire(results: Results, environment: str, catalog: str, now: datetime) -> list[Plan]:
    """Let a catalog count no more, with all runs that it has, and return their plans; a later run counts again.

    ResultsError if it has no run that counts.
    """
    plans = RunIndex(results).refreshed().plans(environment, catalog)
    if not plans:
        none = f"There is no run of {printable(catalog)} that counts in {results.store.url}"
        raise ResultsError(f"{none}, of the environment {printable(environment)}; see: proofsweep status")
    document = {"environment": environment, "catalog": plans[0].catalog, "retired_at": now.isoformat()}
    newest = {plan.identity: plan.run_id for plan in reversed(plans)}  # a list may have had a name since
    for run_id in newest.values():
        with suppress(NameTaken):  # another process did at the same moment
            results.store.create(retired_name(run_id), json_bytes(document))
    return plans


def _settled_before(run_id: str) -> str:
    """Return up to which ID each run is known, where this is the newest one: planning may take days."""
    with suppress(ValueError):
        return f"{began_at(run_id) - _SETTLING:%Y%m%dT%H%M%SZ}"
    return ""


def has_begun_leg(store: Store, run: RunRecord) -> bool:
    """Whether a leg began of which the record does not know the end."""
    step, known = run.plan.partitions, {leg.leg for leg in run.legs}
    following = (next(leg for leg in count(first, step) if leg not in known) for first in range(1, step + 1))
    return any(map(Lease(store, run.plan.run_id).is_taken, following))


def newest_whole(plans: Sequence[Plan]) -> Plan | None:
    """Return the first of some plans that is of a whole catalog; one of a part only if there is nothing else."""
    return next((plan for plan in plans if not plan.has_chosen_rows), next(iter(plans), None))


class RunIndex:
    def __init__(self, results: Results, clock: Callable[[], datetime] = utc_now, *, is_kept: bool = True) -> None:
        """Take a results store; if the index `is_kept`, it is written anew with what it lacked."""
        self._results = results
        self._is_kept = is_kept
        self._store = results.store
        self._clock = clock

    def refreshed(self) -> IndexedRuns:
        """Read the index, and what it lacks from the ledger and the runs themselves; keep that for the next reader."""
        index = self._read()
        whole = self._with_newer(index)
        if whole != index and self._is_kept:
            with suppress(ResultsError):  # a reader may have no right to write
                self._store.replace_derived(INDEX_NAME, gzip.compress(_INDEX.dump_json(whole), compresslevel=5))
        return whole

    def _with_newer(self, index: IndexedRuns) -> IndexedRuns:
        """Add the runs that are later than an index, and those of which the ledger tells something since."""
        entries = list(Ledger(self._store).entries(index.entries_to))
        named = ((_RECEIPT.fullmatch(entry.name), entry.number) for entry in entries)
        numbers = {(leg[1], int(leg[2])): number for leg, number in named if leg and not kind_of(leg[1])}
        decided = {pruning[1] for entry in entries if (pruning := _PRUNING.fullmatch(entry.name))}
        pruned = {run_id for run_id in decided if any(each.is_whole for each in prunings_of(self._store, run_id))}
        limit = f"{self._clock() - _SETTLING:%Y%m%dT%H%M%SZ}"  # a run from the future must not hide the later ones
        there = (name for name in self._store.folders("_runs", min(index.complete_to, limit)) if not kind_of(name))
        later = [name for name in there if name not in index.records]
        wanted = {name for name in (*later, *(run_id for run_id, _ in numbers), *pruned) if name not in index.pruned}
        known = (index.records[run_id] for run_id in wanted & index.records.keys())
        numbers = {(run.plan.run_id, leg.leg): leg.entry for run in known for leg in run.legs if leg.entry} | numbers
        read = some_at_once(sorted(wanted), partial(self._record_of, entries=numbers), REQUESTS_AT_ONCE)
        records = {**index.records, **{record.plan.run_id: record for record in read if record}}
        gone = [records.pop(run_id).plan for run_id in pruned if run_id in records]
        return IndexedRuns(
            records=records,
            pruned={**index.pruned, **{plan.run_id: [plan.environment, plan.identity] for plan in gone}},
            complete_to=min(limit, _settled_before(max((*index.records, *later), default=""))),
            entries_to=entries[-1].number if entries else index.entries_to,
            retired=[name.rpartition("/")[2].removesuffix(".json") for name in self._store.names(RETIRED_FOLDER)],
        )

    def _record_of(self, run_id: str, entries: Mapping[tuple[str, int], int]) -> RunRecord | None:
        """Read a run from its plan, its receipts and the ledger's `entries` by run and leg; None without a whole plan.

        ResultsError if the store is away: the index would leave the run out for good.
        """
        try:
            plan = PLAN.validate_json(self._store.read(plan_name(run_id)) or b"")
        except ValueError:
            return None
        receipts = receipts_of(self._store, plan).items()
        legs = [LegRecord.of(leg, receipt, entries.get((run_id, leg))) for leg, receipt in receipts if receipt]
        return RunRecord(plan=plan, legs=legs)

    def _read(self) -> IndexedRuns:
        """Read the index; one that is damaged, missing or another user's alone is made anew."""
        try:
            content = self._store.read(INDEX_NAME) or b""
        except ResultsError as error:
            if not isinstance(error.__cause__, PermissionError):
                raise
            return IndexedRuns()
        with suppress(OSError, EOFError, ValueError, zlib.error):
            return _INDEX.validate_json(gzip.decompress(content))
        return IndexedRuns()
