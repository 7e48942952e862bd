"""What a store holds: its runs and operations with their legs, as the entries of the log say one after the other.

A checkpoint spares a reader to read each entry, plan and receipt again. It is derived: one object, which whoever ends a
leg replaces. Each says up to which entry it goes, so it does not matter if an older one comes last.
"""

import gzip
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Annotated, TypeVar

from pydantic import AfterValidator, TypeAdapter, ValidationError

from proofsweep.config.locations import identity_of
from proofsweep.config.notices import say
from proofsweep.config.threads import RLock, some_at_once
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ResultsError
from proofsweep.domain.items import Row
from proofsweep.domain.runs import INGEST, OUTCOMES, AnyRun, Operation, Plan
from proofsweep.domain.text import printable
from proofsweep.store import layout
from proofsweep.store.holder import Holder
from proofsweep.store.log import EntryKind, Log, LogEntry
from proofsweep.store.objects import JSON_OBJECT, REQUESTS_AT_ONCE, Store
from proofsweep.store.rows import with_instants


def _dated(plan: Plan) -> Plan:
    plan.run_date.isoformat()  # ValueError if it cannot be read
    return plan


PLAN: TypeAdapter[Plan] = TypeAdapter(Annotated[Plan, AfterValidator(_dated)])
OPERATION = TypeAdapter(Operation)


@dataclass(frozen=True, slots=True, kw_only=True)
class BegunLeg:
    """A leg without an end in the log: a process works on it, or was killed."""

    leg: int
    entry: int  # that began it
    holder: Holder
    ends_as: str | None = None  # how it ends, if that is decided: a leg that only says that its run is superseded
    is_given_up: bool = False  # by a person, with all of its run


@dataclass(frozen=True, slots=True, kw_only=True)
class LegRecord:
    """An ended leg by its receipt."""

    leg: int
    began: BegunLeg | None = None  # None of a leg that the log does not know
    entry: int | None = None  # that ended it; None as long as there is none
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
    def of(cls, leg: int, receipt: Row) -> "LegRecord":
        """Read a receipt; ResultsError if it is damaged."""
        try:
            return _LEG.validate_python({**receipt, "leg": leg, "entry": None})
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
class Record:
    """The legs of a run or an operation: those that have ended by their numbers, and those that have not."""

    legs: Sequence[LegRecord] = ()
    open: Sequence[BegunLeg] = ()

    @property
    def numbers(self) -> list[int]:
        return sorted([*(leg.leg for leg in self.legs), *(leg.leg for leg in self.open)])

    @property
    def begun(self) -> list[BegunLeg]:
        """All legs that ever began, by their numbers."""
        ended = [leg.began for leg in self.legs if leg.began is not None]
        return sorted([*ended, *self.open], key=lambda leg: leg.leg)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord(Record):
    plan: Plan
    planned_by: Holder | None = None  # the process that entered it in the log; None if the entry does not say it

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
        """Whether nobody needs to go on with it."""
        return self.is_complete or self.is_superseded

    @property
    def is_superseded(self) -> bool:
        ends = [leg.ended_by for leg in self.legs] + [leg.ends_as for leg in self.open]
        return EndedBy.SUPERSEDED in ends

    @property
    def is_given_up(self) -> bool:
        return any(leg.is_given_up for leg in self.legs) or any(leg.is_given_up for leg in self.open)


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationRecord(Record):
    plan: Operation

    @property
    def is_complete(self) -> bool:
        return any(leg.ended_by == EndedBy.COMPLETE for leg in self.legs)


AnyRecord = TypeVar("AnyRecord", bound=Record)


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """What the log says up to one of its entries."""

    records: Mapping[str, RunRecord] = field(default_factory=dict)  # by run ID
    operations: Mapping[str, OperationRecord] = field(default_factory=dict)  # by operation ID
    pruned: Mapping[str, RunRecord] = field(default_factory=dict)  # the runs of which a pruning left no row, by run ID
    prunings: Mapping[str, Sequence[int]] = field(default_factory=dict)  # their entries, by run ID
    retired: Mapping[str, int] = field(
        default_factory=dict
    )  # last runs of catalogs that a person retired, with the entry
    through: int = 0  # the last entry that was read
    head: str = ""  # the digest of that entry
    damaged: Sequence[str] = ()  # what is missing or cannot be read, so that it counts as nothing

    def of(self, run: AnyRun) -> "RunRecord | OperationRecord | None":
        """Return what is known of a run or an operation; None if the log does not know it."""
        return self.operations.get(run.run_id) if isinstance(run, Operation) else self.run(run.run_id)

    def run(self, run_id: str) -> RunRecord | None:
        """Return what is known of a run, also of one of which a pruning left no row."""
        return self.records.get(run_id) or self.pruned.get(run_id)

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
        run = self.run(run_id)
        return None if run is None else (run.plan.environment, run.plan.identity)

    @property
    def environments(self) -> set[str]:
        return {run.plan.environment for run in self.records.values()}

    def plans(self, environment: str | None = None, catalog: str | None = None) -> list[Plan]:
        """Return the plans of an environment and of a catalog, the newest first.

        None that was superseded, and none of a catalog that is retired.
        """
        plans = [run.plan for run in self.counted_first() if not run.is_superseded]
        if catalog is not None:
            identities = self.identities_of(catalog)
            plans = [plan for plan in plans if plan.identity in identities]
        return [plan for plan in plans if environment in {None, plan.environment}]

    def identities_of(self, written: str) -> set[str]:
        """Return the identities of the catalog that a person means: by its name, or by any path that leads to it.

        There are several of one that got its name later. One that is not known has where it is.
        """
        meant = {written, identity_of(written)}
        catalogs = {(run.plan.identity, run.plan.catalog) for run in self.records.values()}
        return meant | {identity for identity, catalog in catalogs if identity_of(catalog) in meant}

    def rivals_of(self, environment: str, identity: str, run_id: str = "") -> list[RunRecord]:
        """Return the other runs of a catalog that have an open leg; of one catalog, one run is worked on at a time."""
        return [run for run in self._sweeps_of(environment, identity) if run.open and run.plan.run_id != run_id]

    def began_after(self, plan: Plan) -> RunRecord | None:
        """Return another run of the same catalog of which a leg began since the reading for a plan did."""
        read_after = plan.read_after or 0
        for run in self._sweeps_of(plan.environment, plan.identity):
            began = [leg for leg in run.begun if leg.entry > read_after and leg.ends_as is None]
            if began and run.plan.run_id != plan.run_id:
                return run
        return None

    def _sweeps_of(self, environment: str, identity: str) -> list[RunRecord]:
        """Return the runs of a catalog without passes: these hold the watched folder, and sweeps yield to them."""
        runs = [run for run in self.records.values() if run.plan.catalog_kind != INGEST]
        return [run for run in runs if (run.plan.environment, run.plan.identity) == (environment, identity)]


_RUNS = TypeAdapter(Runs)
_MOST_DAMAGED_SAID = 3  # lines; proofsweep audit names all


class RunLog:
    """The log of a store, with what it says: one for each process and store; safe to use from several threads."""

    def __init__(self, store: Store) -> None:
        self._store, self._log = store, Log(store)
        self._runs: Runs | None = None
        self._lock = RLock()

    def runs(self) -> Runs:
        """Read what the log says by now."""
        with self._lock:
            if self._runs is None:
                self._runs = self._first_read()
            else:
                self._runs = self._after(self._runs, list(self._log.entries_after(self._runs.through)))
            return self._runs

    @property
    def known(self) -> Runs:
        """What the log said when this process last read it: enough for what never changes once it stands there."""
        known = self._runs
        return self.runs() if known is None else known

    def entry(self, number: int) -> LogEntry:
        return self._log.entry(number)

    def append(self, kind: EntryKind, run_id: str, decide: Callable[[Runs], Row | None]) -> Runs:
        """Append an entry with the facts that are decided on what the log says before it; none if these are None.

        `decide` is called again if another process was first. What it raises is raised, and nothing is appended.
        """
        with self._lock:
            while True:
                runs = self.runs()
                facts = decide(runs)
                if facts is None:
                    return runs
                entry = self._log.create(runs.through + 1, runs.head, kind, run_id, facts)
                if entry is not None:
                    self._runs = self._after(runs, [entry])
                    return self._runs

    def retire(self, environment: str, catalog: str, now: datetime) -> list[Plan]:
        """Let a catalog count no more, with all runs that it has, and return their plans; a later run counts again.

        ResultsError if it has no run that counts.
        """
        plans = self.runs().plans(environment, catalog)
        if not plans:
            none = f"There is no run of {printable(catalog)} that counts in {self._store.url}"
            raise ResultsError(f"{none}, of the environment {printable(environment)}; see: proofsweep status")
        facts: Row = {"environment": environment, "catalog": plans[0].catalog, "retired_at": now.isoformat()}
        newest = {plan.identity: plan.run_id for plan in reversed(plans)}  # a list may have had a name since
        for run_id in newest.values():
            self.append(EntryKind.RETIRED, run_id, partial(_unless_retired, run_id, facts))
        return plans

    def keep(self) -> None:
        """Write the checkpoint, so that the next reader need not read all entries."""
        runs = self.runs()
        if not runs.damaged:  # what is missing may come back from a backup
            content = gzip.compress(_RUNS.dump_json(runs), compresslevel=5)
            self._store.replace_derived(layout.CHECKPOINT_NAME, content)

    def _first_read(self) -> Runs:
        """Read the checkpoint and what came since; all entries if it is of another line, as after a restored backup."""
        kept = self._checkpoint()
        last = self._log.newest()
        if kept.through:
            known, *since = self._log.entries(kept.through, max(kept.through, last))
            if known.digest == kept.head:
                return self._after(kept, since)
        return self._after(Runs(), list(self._log.entries(1, last)))

    def _checkpoint(self) -> Runs:
        """Read the checkpoint; one that is damaged, missing or another user's alone is made anew."""
        try:
            content = self._store.read(layout.CHECKPOINT_NAME) or b""
        except ResultsError as error:
            if not isinstance(error.__cause__, PermissionError):
                raise
            return Runs()
        with suppress(OSError, EOFError, ValueError, zlib.error):
            return _RUNS.validate_json(gzip.decompress(content))
        return Runs()

    def _after(self, runs: Runs, entries: Sequence[LogEntry]) -> Runs:
        """Return what the log says after some more entries."""
        if not entries:
            return runs
        fold = _Fold(runs)
        contents = some_at_once(map(named_by, entries), self._read_if_named, REQUESTS_AT_ONCE)
        for entry, content in zip(entries, contents, strict=True):
            fold.add(entry, content)
        after = fold.runs(entries[-1])
        found = after.damaged[len(runs.damaged) :]
        for what in found[:_MOST_DAMAGED_SAID]:
            say(f"{what} in the results store {self._store.url}, and counts as nothing; see: proofsweep audit")
        if len(found) > _MOST_DAMAGED_SAID:
            say(f"{len(found) - _MOST_DAMAGED_SAID:,} more objects of it are missing or cannot be read")
        return after

    def _read_if_named(self, name: str | None) -> bytes | None:
        return None if name is None else self._store.read(name)


def _unless_retired(run_id: str, facts: Row, runs: Runs) -> Row | None:
    return None if run_id in runs.retired else facts


def named_by(entry: LogEntry) -> str | None:
    """Name the object that an entry speaks of, with its digest: it was written before, and is never changed."""
    if entry.kind is EntryKind.PLANNED:
        return layout.plan_name(entry.run_id)
    if entry.kind is EntryKind.ENDED:
        return layout.receipt_name(entry.run_id, leg_of_entry(entry))
    return None


def leg_of_entry(entry: LogEntry) -> int:
    leg = entry.facts.get("leg")
    return leg if isinstance(leg, int) else 0


class _Fold:
    """Adds one entry after the other to what is known."""

    def __init__(self, runs: Runs) -> None:
        self._before = runs
        self._records, self._operations = dict(runs.records), dict(runs.operations)
        self._pruned, self._prunings, self._retired = dict(runs.pruned), dict(runs.prunings), dict(runs.retired)
        self._damaged = list(runs.damaged)

    def runs(self, last: LogEntry) -> Runs:
        return Runs(
            records=self._records,
            operations=self._operations,
            pruned=self._pruned,
            prunings=self._prunings,
            retired=self._retired,
            through=last.number,
            head=last.digest,
            damaged=self._damaged,
        )

    def add(self, entry: LogEntry, content: bytes | None) -> None:
        """Add an entry, and the content of the object that it speaks of."""
        try:
            self._add(entry, content)
        except (ValueError, TypeError, KeyError, ResultsError):
            # Without its plan nothing of a run is understood: only the plan is damaged, and told, not each of its legs.
            plan = layout.plan_name(entry.run_id)
            if not any(what.startswith(plan) for what in self._damaged):
                self._damaged.append(_what_is_wrong(entry, content))

    def _add(self, entry: LogEntry, content: bytes | None) -> None:
        run_id = entry.run_id
        if entry.kind is EntryKind.PLANNED and layout.kind_of(run_id):
            self._operations[run_id] = OperationRecord(plan=OPERATION.validate_json(content or b""))
        elif entry.kind is EntryKind.PLANNED:
            planned_by = _PLANNED_BY.validate_python(entry.facts.get("holder"))
            self._records[run_id] = RunRecord(plan=PLAN.validate_json(content or b""), planned_by=planned_by)
        elif entry.kind is EntryKind.BEGUN:
            self._begin(run_id, _BEGUN.validate_python({**entry.facts, "entry": entry.number}))
        elif entry.kind is EntryKind.ENDED:
            self._add_ended(entry, content)
        elif entry.kind is EntryKind.PRUNED:
            self._prunings[run_id] = [*self._prunings.get(run_id, ()), entry.number]
            if entry.facts["is_whole"] and (run := self._records.pop(run_id, None)) is not None:
                self._pruned[run_id] = run
        elif entry.kind is EntryKind.RETIRED:
            self._retired[run_id] = entry.number
        else:
            raise ValueError(entry.number)

    def _add_ended(self, entry: LogEntry, content: bytes | None) -> None:
        """End a leg, also one whose receipt is missing or damaged: nobody holds it any more."""
        leg = LegRecord(leg=leg_of_entry(entry), ended_by=str(entry.facts["ended_by"]))
        try:
            leg = LegRecord.of(leg.leg, JSON_OBJECT.validate_json(content or b""))
        finally:
            self._end(entry.run_id, leg, entry.number)

    def _begin(self, run_id: str, begun: BegunLeg) -> None:
        if run_id in self._operations:
            self._operations[run_id] = _with_begun(self._operations[run_id], begun)
        else:
            self._records[run_id] = _with_begun(self._records[run_id], begun)

    def _end(self, run_id: str, leg: LegRecord, entry: int) -> None:
        if run_id in self._operations:
            self._operations[run_id] = _with_ended(self._operations[run_id], leg, entry)
        else:
            self._records[run_id] = _with_ended(self._records[run_id], leg, entry)


def _with_begun(record: AnyRecord, begun: BegunLeg) -> AnyRecord:
    return replace(record, open=[*record.open, begun])


def _with_ended(record: AnyRecord, leg: LegRecord, entry: int) -> AnyRecord:
    began = next((begun for begun in record.open if begun.leg == leg.leg), None)
    legs = [*record.legs, replace(leg, began=began, entry=entry)]
    return replace(
        record,
        legs=sorted(legs, key=lambda each: each.leg),
        open=[begun for begun in record.open if begun.leg != leg.leg],
    )


_BEGUN = TypeAdapter(BegunLeg)
_PLANNED_BY: TypeAdapter[Holder | None] = TypeAdapter(Holder | None)


def _what_is_wrong(entry: LogEntry, content: bytes | None) -> str:
    if not entry.digest:
        return f"{layout.log_name(entry.number)} is missing"
    named = named_by(entry)
    if named is None:
        return f"{layout.log_name(entry.number)} cannot be read"
    return f"{named} {'is missing' if content is None else 'cannot be read'}"


def newest_whole(plans: Sequence[Plan]) -> Plan | None:
    """Return the first of some plans that is of a whole catalog; one of a part only if there is nothing else."""
    return next((plan for plan in plans if not plan.has_chosen_rows), next(iter(plans), None))
