"""How well a store knows the calls of one run or operation: some may be in no table yet, some in none for good."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import pyarrow as pa

from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ResultsError
from proofsweep.store.journal import unpublished
from proofsweep.store.lease import open_legs, receipts_of
from proofsweep.store.operations import operation_of
from proofsweep.store.parts import Results, prunings_of


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
    if prunings_of(results.store, run_id):
        return RunCalls(CallsKnown.PRUNED)
    receipts = receipts_of(results.store, plan)
    journals = [leg for leg, receipt in receipts.items() if receipt is None]
    tables = [table for leg in journals for table in unpublished(results, plan, leg, "exchanges")]
    was_killed = any(receipt is None or receipt.get("ended_by") == EndedBy.KILLED for receipt in receipts.values())
    if any(leg.is_alive for leg in open_legs(results.store, plan)):
        return RunCalls(CallsKnown.SO_FAR, tables)
    if not receipts:
        return RunCalls(CallsKnown.NONE_YET)
    return RunCalls(CallsKnown.SOME if was_killed else CallsKnown.ALL, tables)
