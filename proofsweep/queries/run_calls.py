"""How well a store knows the calls of one run or operation: some may not be written down, some are gone for good."""

from enum import StrEnum

from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ResultsError
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


def calls_of_run(results: Results, run_id: str) -> CallsKnown | None:
    """Read what is known of the calls of a run or an operation; None if there is none of this ID."""
    try:
        plan = operation_of(results.store, run_id) or results.plan(run_id)
    except ResultsError:
        return None
    if results.log.runs().prunings.get(run_id):
        return CallsKnown.PRUNED
    record = results.log.runs().of(plan)
    if record is None or not (record.legs or record.open):
        return CallsKnown.NONE_YET
    if any(leg.is_alive for leg in Legs(results, plan).shown()):
        return CallsKnown.SO_FAR
    # A leg that is open and not at work was killed too: nobody has written its end yet.
    was_killed = any(leg.ended_by == EndedBy.KILLED for leg in record.legs)
    if record.open or was_killed:
        return CallsKnown.SOME
    return CallsKnown.ALL
