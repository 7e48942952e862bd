"""How well a store knows the calls of one run or operation: some may be in no table yet, some in none for good."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import pyarrow as pa

from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ResultsError
from proofsweep.store.journal import unpublished
from proofsweep.store.legs import Legs
from proofsweep.store.operations import operation_of
from proofsweep.store.parts import Results


class CallsKnown(StrEnum):
    """Which of its calls the store has."""

    ALL = "all"
    SOME = "some"  # a process was killed: what it did last may be in no table
    SO_FAR = "so far"  # a process is at work
    NONE_YET = "none yet"
    PRUNED = "pruned"


@dataclass(frozen=True, slots=True)
class RunCalls:
    known: CallsKnown
    unpublished: Sequence[pa.Table] = ()  # exchanges that only the journal of a leg has, which works or was killed


def calls_of_run(results: Results, run_id: str) -> RunCalls | None:
    """Read what is known of the calls of a run or an operation; None if there is none of this ID."""
    try:
        plan = operation_of(results.store, run_id) or results.plan(run_id)
    except ResultsError:
        return None
    if results.log.runs().prunings.get(run_id):
        return RunCalls(CallsKnown.PRUNED)
    record = results.log.runs().of(plan)
    if record is None or not (record.legs or record.open):
        return RunCalls(CallsKnown.NONE_YET)
    tables = [table for leg in record.open for table in unpublished(results, plan, leg.leg, "exchanges")]
    was_killed = bool(record.open) or any(leg.ended_by == EndedBy.KILLED for leg in record.legs)
    if any(leg.is_alive for leg in Legs(results, plan).shown()):
        return RunCalls(CallsKnown.SO_FAR, tables)
    return RunCalls(CallsKnown.SOME if was_killed else CallsKnown.ALL, tables)
