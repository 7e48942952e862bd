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
from proofsweep.store.log import EntryKind, Log, LogEntry, leg_of_entry, named_by, what_is_wrong
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
        cells = {**receipt, "leg": leg, "entry": None}
        try:
            return _LEG.validate_python(cells)
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
        if self.started_at is None or self.finished_at is None:
            return 0.0
        return (self.finished_at - self.started_at).total_seconds()

    def count(self, column: str) -> int:
        """Return a whole number of its row of `runs`; 0 if its receipt has none."""
        cell = self.counts.get(column)
        return cell if isinstance(cell, int) else 0


def _instant(cell: object) -> datetime | None:
    return cell if isinstance(cell, datetime) else None


_LEG = TypeAdapter(LegRecord)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The legs of a run or an operation: those that have ended by their numbers, and those that have not."""

    legs: Sequence[LegRecord] = ()
    open: Sequence[BegunLeg] = ()

    @property
    def all_legs(self) -> "list[LegRecord | BegunLeg]":
        return [*self.legs, *self.open]

    @property
    def numbers(self) -> list[int]:
        return sorted(leg.leg for leg in self.all_legs)

    @property
    def begun(self) -> list[BegunLeg]:
        """All legs that ever began, by their numbers."""
        begun = [leg.began for leg in self.legs if leg.began is not None]
        return sorted([*begun, *self.open], key=lambda leg: leg.leg)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord(Record):
    plan: Plan
    planned_by: Holder | None = None  # the process that entered it in the log; None if the entry does not say it

    @property
    def is_complete(self) -> bool:
        complete = {self.plan.partition_of_leg(leg.leg) for leg in self.legs if leg.ended_by == EndedBy.COMPLETE}
        return len(complete) == self.plan.partitions

    @property
    def last_legs(self) -> list[LegRecord]:
        """The last leg that ended of each partition that has one."""
        last = {self.plan.partition_of_leg(leg.leg): leg for leg in self.legs}
        return list(last.values())

    @property
    def remaining(self) -> int:
        """How many rows have no outcome."""
        if self.is_complete:
            return 0
        # A leg may have missed parts of another one, so that of several counts the least is true.
        counts: list[int] = []
        for leg in self.legs:
            count = leg.counts.get("remaining")
            if isinstance(count, int):
                counts.append(count)
        return min(counts, default=self.plan.items)

    @property
    def is_over(self) -> bool:
        """Whether nobody needs to go on with it."""
        return self.is_complete or self.is_superseded

    @property
    def is_superseded(self) -> bool:
        ends = [leg.ended_by for leg in self.legs]
        ends += [leg.ends_as for leg in self.open]  # its process may have been killed while it said so
        return EndedBy.SUPERSEDED in ends

    @property
    def is_given_up(self) -> bool:
        return any(leg.is_given_up for leg in self.all_legs)


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
    retired: Mapping[str, int] = field(default_factory=dict)  # last runs of retired catalogs, with the entry
    through: int = 0  # the last entry that was read
    head: str = ""  # the digest of that entry
    damaged: Sequence[str] = ()  # what is missing or cannot be read, so that it counts as nothing

    def of(self, run: AnyRun) -> "RunRecord | OperationRecord | None":
        """Return what is known of a run or an operation; None if the log does not know it."""
        if isinstance(run, Operation):
            return self.operations.get(run.run_id)
        return self.run(run.run_id)

    def run(self, run_id: str) -> RunRecord | None:
        """Return what is known of a run, also of one of which a pruning left no row."""
        return self.records.get(run_id) or self.pruned.get(run_id)

    def newest_first(self) -> Iterator[RunRecord]:
        for run_id in sorted(self.records, reverse=True):
            yield self.records[run_id]

    def counted_first(self) -> list[RunRecord]:
        """Return the runs that count, the newest first: a catalog that is retired counts with later runs alone."""
        last_retired: dict[tuple[str, str], str] = {}  # the newest run that does not count, by catalog
        for run_id in sorted(self.retired):
            run = self.run(run_id)
            if run is not None:
                last_retired[run.plan.environment, run.plan.identity] = run_id
        counted: list[RunRecord] = []
        for run in self.newest_first():
            catalog = run.plan.environment, run.plan.identity
            if run.plan.run_id > last_retired.get(catalog, ""):
                counted.append(run)
        return counted

    @property
    def environments(self) -> set[str]:
        return {run.plan.environment for run in self.records.values()}

    def plans(self, environment: str | None = None, catalog: str | None = None) -> list[Plan]:
        """Return the plans of an environment and of a catalog, the newest first.

        Superseded runs and retired catalogs are left out.
        """
        identities = None if catalog is None else self.identities_of(catalog)
        plans: list[Plan] = []
        for run in self.counted_first():
            plan = run.plan
            is_of_environment = environment in {None, plan.environment}
            is_of_catalog = identities is None or plan.identity in identities
            if is_of_environment and is_of_catalog and not run.is_superseded:
                plans.append(plan)
        return plans

    def identities_of(self, written: str) -> set[str]:
        """Return the identities of the catalog that a person means: by its name, or by any path that leads to it.

        A catalog that got its name later has several. One that is not known has where it is.
        """
        meant = {written, identity_of(written)}
        catalogs = {(run.plan.identity, run.plan.catalog) for run in self.records.values()}
        same = {identity for identity, catalog in catalogs if identity_of(catalog) in meant}
        return meant | same

    def rivals_of(self, environment: str, identity: str, run_id: str = "") -> list[RunRecord]:
        """Return the other runs of a catalog that have an open leg; of one catalog, one run is worked on at a time."""
        runs = self._sweeps_of(environment, identity)
        return [run for run in runs if run.open and run.plan.run_id != run_id]

    def began_after(self, plan: Plan) -> RunRecord | None:
        """Return another run of the same catalog of which a leg began since the reading for a plan did."""
        read_after = plan.read_after or 0
        for run in self._sweeps_of(plan.environment, plan.identity):
            if run.plan.run_id == plan.run_id:
                continue
            # A leg that only says that its run is superseded is no work.
            if any(leg.entry > read_after and leg.ends_as is None for leg in run.begun):
                return run
        return None

    def _sweeps_of(self, environment: str, identity: str) -> list[RunRecord]:
        # A pass over a watched folder holds the lease of the folder, and sweeps yield to it: it is no rival of them.
        sweeps = [run for run in self.records.values() if run.plan.catalog_kind != INGEST]
        return [run for run in sweeps if (run.plan.environment, run.plan.identity) == (environment, identity)]


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
                entries = list(self._log.entries_after(self._runs.through))
                self._runs = self._after(self._runs, entries)
            return self._runs

    @property
    def known(self) -> Runs:
        """What the log said when this process last read it: enough for what never changes once it stands there."""
        runs = self._runs
        return self.runs() if runs is None else runs

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
                # The next number is taken if another process was first. What was decided may be wrong after its entry.
                entry = self._log.create(runs.through + 1, runs.head, kind, run_id, facts)
                if entry is not None:
                    self._runs = self._after(runs, [entry])
                    return self._runs

    def retire(self, environment: str, catalog: str, now: datetime) -> list[Plan]:
        """Let the runs that a catalog has count no more, and return their plans; a later run counts again.

        ResultsError if it has no run that counts.
        """
        plans = self.runs().plans(environment, catalog)
        if not plans:
            none = f"There is no run of {printable(catalog)} that counts in {self._store.url}"
            raise ResultsError(f"{none}, of the environment {printable(environment)}; see: proofsweep status")
        facts: Row = {"environment": environment, "catalog": plans[0].catalog, "retired_at": now.isoformat()}
        # A catalog that got a name later has several identities, and each ends with its own newest run.
        newest = {plan.identity: plan.run_id for plan in reversed(plans)}
        for run_id in newest.values():
            self.append(EntryKind.RETIRED, run_id, partial(_unless_retired, run_id, facts))
        return plans

    def keep(self) -> None:
        """Write the checkpoint, so that the next reader need not read all entries."""
        runs = self.runs()
        # What is missing may come back from a backup; a checkpoint would go on without it.
        if not runs.damaged:
            content = gzip.compress(_RUNS.dump_json(runs), compresslevel=5)
            self._store.replace_derived(layout.CHECKPOINT_NAME, content)

    def _first_read(self) -> Runs:
        checkpoint = self._checkpoint()
        last = self._log.newest()
        if checkpoint.through:
            last = max(last, checkpoint.through)  # a listing may lag behind
            entry, *later = self._log.entries(checkpoint.through, last)
            # The log of a restored backup may have another entry of this number: then all entries are read.
            if entry.digest == checkpoint.head:
                return self._after(checkpoint, later)
        entries = list(self._log.entries(1, last))
        return self._after(Runs(), entries)

    def _checkpoint(self) -> Runs:
        # It is derived: one that is damaged, missing, or that another user alone may read, is made anew.
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
        names = map(named_by, entries)
        contents = some_at_once(names, self._read_if_named, REQUESTS_AT_ONCE)
        for entry, content in zip(entries, contents, strict=True):
            fold.add(entry, content)
        after = fold.runs(entries[-1])
        self._say_damaged(after.damaged[len(runs.damaged) :])
        return after

    def _say_damaged(self, damaged: Sequence[str]) -> None:
        for what in damaged[:_MOST_DAMAGED_SAID]:
            say(f"{what} in the results store {self._store.url}, and counts as nothing; see: proofsweep audit")
        if len(damaged) > _MOST_DAMAGED_SAID:
            say(f"{len(damaged) - _MOST_DAMAGED_SAID:,} more objects of it are missing or cannot be read")

    def _read_if_named(self, name: str | None) -> bytes | None:
        return None if name is None else self._store.read(name)


def _unless_retired(run_id: str, facts: Row, runs: Runs) -> Row | None:
    return None if run_id in runs.retired else facts


class _Fold:
    """Adds one entry after the other to what is known."""

    def __init__(self, runs: Runs) -> None:
        self._records = dict(runs.records)
        self._operations = dict(runs.operations)
        self._pruned = dict(runs.pruned)
        self._prunings = dict(runs.prunings)
        self._retired = dict(runs.retired)
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
                self._damaged.append(what_is_wrong(entry, content))

    def _add(self, entry: LogEntry, content: bytes | None) -> None:
        run_id = entry.run_id
        if entry.kind is EntryKind.PLANNED:
            self._add_planned(entry, content or b"")
        elif entry.kind is EntryKind.BEGUN:
            leg = _BEGUN.validate_python({**entry.facts, "entry": entry.number})
            self._begin(run_id, leg)
        elif entry.kind is EntryKind.ENDED:
            self._add_ended(entry, content)
        elif entry.kind is EntryKind.PRUNED:
            self._prunings[run_id] = [*self._prunings.get(run_id, ()), entry.number]
            if entry.facts["is_whole"] and run_id in self._records:
                self._pruned[run_id] = self._records.pop(run_id)
        elif entry.kind is EntryKind.RETIRED:
            self._retired[run_id] = entry.number
        else:
            raise ValueError(entry.number)

    def _add_planned(self, entry: LogEntry, plan: bytes) -> None:
        run_id = entry.run_id
        if layout.kind_of(run_id):
            self._operations[run_id] = OperationRecord(plan=OPERATION.validate_json(plan))
        else:
            planned_by = _PLANNED_BY.validate_python(entry.facts.get("holder"))
            self._records[run_id] = RunRecord(plan=PLAN.validate_json(plan), planned_by=planned_by)

    def _add_ended(self, entry: LogEntry, content: bytes | None) -> None:
        number = leg_of_entry(entry)
        leg = LegRecord(leg=number, ended_by=str(entry.facts["ended_by"]))
        # A leg whose receipt is missing or damaged has ended too: nobody holds it any more.
        try:
            receipt = JSON_OBJECT.validate_json(content or b"")
            leg = LegRecord.of(number, receipt)
        finally:
            self._end(entry.run_id, leg, entry.number)

    def _begin(self, run_id: str, leg: BegunLeg) -> None:
        if run_id in self._operations:
            operation = self._operations[run_id]
            self._operations[run_id] = replace(operation, open=[*operation.open, leg])
        else:
            run = self._records[run_id]
            self._records[run_id] = replace(run, open=[*run.open, leg])

    def _end(self, run_id: str, leg: LegRecord, entry: int) -> None:
        if run_id in self._operations:
            self._operations[run_id] = _with_ended(self._operations[run_id], leg, entry)
        else:
            self._records[run_id] = _with_ended(self._records[run_id], leg, entry)


def _with_ended(record: AnyRecord, ended: LegRecord, entry: int) -> AnyRecord:
    began = next((leg for leg in record.open if leg.leg == ended.leg), None)
    still_open = [leg for leg in record.open if leg.leg != ended.leg]
    legs = [*record.legs, replace(ended, began=began, entry=entry)]
    legs.sort(key=lambda leg: leg.leg)
    return replace(record, legs=legs, open=still_open)


_BEGUN = TypeAdapter(BegunLeg)
_PLANNED_BY: TypeAdapter[Holder | None] = TypeAdapter(Holder | None)
