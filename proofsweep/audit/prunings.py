"""Whether each pruning was allowed: it takes what is old and not newest, and nothing else.

An entry of the log excuses all that it names. Without these rules, whoever can write to the store could append one that
takes last night's rejections away.
"""

import json
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from proofsweep.audit.findings import Audit
from proofsweep.audit.line import Line
from proofsweep.audit.prune import ended_at
from proofsweep.domain.errors import ResultsError
from proofsweep.domain.items import Row
from proofsweep.domain.runs import Plan
from proofsweep.store import layout
from proofsweep.store.log import LogEntry
from proofsweep.store.parts import ITEMS, PRUNING, Pruning, Results, read_table
from proofsweep.store.runs import PLAN, LegRecord, RunRecord
from proofsweep.store.tables import ANSWERED

_CLOCKS_DIFFER = timedelta(hours=1)  # at most: those of two machines that the service tells no time
_SECOND = timedelta(seconds=1)  # of which `decided_at` has no part
_FUTURE = timedelta(days=1)
_ITEM = pa.schema([ITEMS.field("item_id")])


class _Decided(NamedTuple):
    entry: int
    pruning: Pruning
    at: datetime


@dataclass(slots=True, kw_only=True)
class NeededAnswers:
    """The items of a listing that was pruned: what answered them went only if there is a newer answer."""

    entry: int  # of the log, that prunes
    plan: Plan
    since: datetime
    hashes: "array[int]"  # of the items, sorted
    may_lack: int  # rows that had no answer, or that of an earlier run
    is_answered: bytearray = field(init=False)

    def __post_init__(self) -> None:
        self.is_answered = bytearray(len(self.hashes))

    def add(self, run_id: str, verdicts: pa.Table) -> None:
        """Tick off the items that a part which remains has answered."""
        # An older answer of an earlier run would be no newer one: without it, a pruning could take the newest.
        if run_id < self.plan.run_id:
            answered_at = pc.coalesce(verdicts["answered_at"], verdicts["finished_at"])
            since = pa.scalar(self.since, answered_at.type)
            verdicts = verdicts.filter(pc.greater_equal(answered_at, since))
        is_answer = pc.field("environment") == self.plan.environment
        is_answer &= pc.field("outcome").isin(ANSWERED)
        for item_id in verdicts.filter(is_answer)["item_id"].to_pylist():
            hashed = hash(item_id)
            index = bisect_left(self.hashes, hashed)
            if index < len(self.hashes) and self.hashes[index] == hashed:
                self.is_answered[index] = 1

    @property
    def lacking(self) -> int:
        return max(0, self.is_answered.count(0) - self.may_lack)


class PruningRule:
    """Judges each pruning of a log by the plans and receipts as they were at its entry."""

    def __init__(self, line: Line, now: datetime, audit: Audit) -> None:
        self._line = line
        self._now = now
        self._audit = audit
        self._plans: dict[str, Plan] = {}
        self._legs: dict[str, list[LegRecord]] = {run_id: [] for run_id in line.prunings}

    def read(self, name: str, content: bytes) -> None:
        """Take a plan or a receipt that is as the log says; of receipts those of pruned runs are enough."""
        # What cannot be read is a finding of its run.
        _, run_id, *rest = name.split("/")
        with suppress(ValueError, TypeError, ResultsError):
            if name == layout.plan_name(run_id) and not layout.kind_of(run_id):
                self._plans[run_id] = PLAN.validate_json(content)
            elif run_id in self._legs and len(rest) > 1:
                leg = LegRecord.of(int(rest[1]), json.loads(content))
                self._legs[run_id].append(leg)

    def check(self) -> None:
        """Say of each pruning what forbids it."""
        for entries in self._line.prunings.values():
            for entry in entries:
                for what in self._faults(entry):
                    self._audit.bad(layout.log_name(entry.number), what)

    def _faults(self, entry: LogEntry) -> Iterator[str]:
        run_id = entry.run_id
        decided = _decided(entry)
        if decided is None:
            yield "is no pruning"
            return
        if not all(_may_go(run_id, name) for name in decided.pruning.deleted):
            yield "prunes an object that no pruning deletes"
        plan = self._plans.get(run_id)
        if plan is None:
            if layout.kind_of(run_id):
                yield "prunes an operation"
            return  # else a finding already
        yield from self._youth(plan, decided)
        if decided.pruning.deletes_list and self._lists_newest(plan, entry.number):
            yield "prunes what a catalog lists now"

    def _youth(self, plan: Plan, decided: _Decided) -> Iterator[str]:
        """Say why a run was too young to be pruned."""
        if decided.at > self._now + _FUTURE:
            yield "prunes at a time that is yet to come"
        # The run as it was at the entry: what was appended since excuses nothing.
        begun = _before(decided.entry, self._line.begun.get(plan.run_id, {}))
        ended = _before(decided.entry, self._line.ended.get(plan.run_id, {}))
        legs = [leg for leg in self._legs[plan.run_id] if leg.leg in ended]
        if len(legs) < len(ended):  # a receipt is damaged, which is a finding already
            return
        run = RunRecord(plan=plan, legs=legs)
        days = decided.pruning.older_than_days
        if begun - ended or not legs or not run.is_over:
            yield "prunes a run that was not over"
        elif ended_at(run) >= decided.at + _SECOND - timedelta(days=days):
            yield f"prunes a run that was over for less than {days} days"

    def _lists_newest(self, plan: Plan, entry: int) -> bool:
        """Whether a run was the newest that listed its catalog when an entry was written."""
        if plan.lists_a_part or self._is_given_up(plan.run_id, entry):
            return False
        for run_id, planned in self._line.planned.items():
            if run_id <= plan.run_id or planned >= entry or layout.kind_of(run_id):
                continue
            if not self._is_given_up(run_id, entry) and self._may_list(run_id, plan):
                return False
        return True

    def _may_list(self, run_id: str, plan: Plan) -> bool:
        """Whether a run lists the catalog of another."""
        other = self._plans.get(run_id)
        if other is None:  # its plan is damaged, a finding already: nobody knows
            return True
        is_same = (other.environment, other.identity) == (plan.environment, plan.identity)
        return is_same and not other.lists_a_part

    def _is_given_up(self, run_id: str, entry: int) -> bool:
        return self._line.given_up.get(run_id, entry) < entry

    def needed(self, results: Results) -> list[NeededAnswers]:
        """Return the items that must have an answer: a pruning took verdicts of their listing, and left its items."""
        needed: list[NeededAnswers] = []
        for run_id in sorted(self._line.prunings.keys() & self._plans.keys()):
            plan = self._plans[run_id]
            entry = self._took_answers_of_listing(plan)
            if entry is not None:
                with suppress(ResultsError):  # its items were pruned since, or are a finding of the run
                    needed.append(self._needed_of(results, plan, entry))
        return needed

    def _took_answers_of_listing(self, plan: Plan) -> int | None:
        """Return the entry of the first pruning that took verdicts of what listed its catalog then; None without."""
        for entry in self._line.prunings[plan.run_id]:
            decided = _decided(entry)
            if decided is None:  # a finding already
                continue
            takes_verdicts = any(name.startswith("verdicts/") for name in decided.pruning.deleted)
            if takes_verdicts and self._lists_newest(plan, entry.number):
                return entry.number
        return None

    def _needed_of(self, results: Results, plan: Plan, entry: int) -> NeededAnswers:
        listed = array("q")
        for number in range(len(plan.batches)):
            table = read_table(results.store, layout.items_name(plan.run_id, number), _ITEM)
            listed.extend(map(hash, table["item_id"].to_pylist()))
        hashes = array("q", (hashed for hashed, _ in groupby(sorted(listed))))
        # A row that its run has not answered, or answered from an earlier run, may lack an answer that remains.
        answered, copied = 0, 0
        for leg in self._legs[plan.run_id]:
            answered += leg.count("accepted") + leg.count("rejected")
            copied += leg.duplicates or 0
        may_lack = plan.items - answered + copied
        # Where the service tells no time, plans and answers have those of two machines.
        since = datetime.fromisoformat(plan.created_at) - _CLOCKS_DIFFER
        return NeededAnswers(entry=entry, plan=plan, since=since, hashes=hashes, may_lack=may_lack)

    def check_answers(self, needed: Sequence[NeededAnswers]) -> None:
        """Say which prunings took answers that nothing newer stands for, when all parts were read."""
        # What was pruned while the audit read may have taken a newer answer, so that nothing is known.
        if not needed or self._line.has_pruned_since():
            return
        for answers in needed:
            if answers.lacking:
                what = f"{answers.lacking:,} of its items have no newer one"
                what = f"prunes the newest answers of run {answers.plan.run_id}: {what}"
                self._audit.bad(layout.log_name(answers.entry), what)


def _before(entry: int, legs: Mapping[int, int]) -> set[int]:
    return {leg for leg, number in legs.items() if number < entry}


def _decided(entry: LogEntry) -> _Decided | None:
    """Read a pruning; None if it is none."""
    with suppress(ValueError):
        facts: Row = {"run_id": entry.run_id, **entry.facts}
        pruning = PRUNING.validate_python(facts)
        # Without a time zone the age of the run cannot be judged, and no pruning of ours deletes nothing.
        at = datetime.fromisoformat(pruning.decided_at)
        if at.tzinfo is not None and pruning.older_than_days > 0 and pruning.deleted:
            return _Decided(entry.number, pruning, at)
    return None


def _may_go(run_id: str, name: str) -> bool:
    if name.startswith(("verdicts/", "exchanges/")):
        return layout.run_of(name) == run_id
    items = f"{layout.items_folder(run_id)}/"
    listed = f"{layout.items_folder(run_id, 'listed')}/"
    journals = f"{layout.journals_folder(run_id)}/"
    return name.startswith((items, listed, journals))
