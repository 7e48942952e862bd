"""The Prefect state in which a flow run ends: its name says how, so that an automation can match it."""

from typing import Any

from prefect.client.schemas.objects import State
from prefect.states import Cancelled, Completed, Failed

from proofsweep.domain.ingest import PassReport
from proofsweep.domain.runs import EndedBy
from proofsweep.errors import ProofsweepError, RunIsActive, RunMustStop
from proofsweep.reporting.run_status import RunStatus
from proofsweep.reporting.summary import line_of

NAMES = {
    EndedBy.QUOTA: "QuotaSpent",
    EndedBy.WINDOW: "WindowClosed",
    EndedBy.BREAKER: "Outage",
    EndedBy.KEY_REFUSED: "KeyRefused",
}
"""Names of Failed states of runs whose rows remain; any other ending is plain `Failed`."""


def state_of_run(run: RunStatus) -> State[str]:
    """Return Completed with the run's id if the run is over and no row failed; else the state that names what is wrong.

    SomeFailed is of the type Completed too; AllFailed, where no row was answered, is of the type Failed.
    """
    line = line_of(run)
    if not run.is_over:
        return _stopped(run.ended_by, line)
    if not run.rows("failed"):
        return Completed(message=line, data=run.plan.run_id)
    if run.answered:
        return Completed(name="SomeFailed", message=line, data=run.plan.run_id)
    return Failed(name="AllFailed", message=line)


def state_of_error(error: ProofsweepError) -> State[Any]:
    """Give the state of a run that a known error ended. A caller in this process finds the error in its result.

    It is returned, not raised, because Prefect logs a traceback for what is raised.
    """
    if isinstance(error, RunIsActive):  # somebody else does this work: nothing failed
        return Cancelled(message=error.message, data=error)
    return _stopped(error.ended_by if isinstance(error, RunMustStop) else None, error.message, error)


def state_of_pass(report: PassReport, line: str) -> State[Any]:
    """Return the state of a pass over a watched folder that came to its end: NotMoved if files could not be moved."""
    if report.letters_error is not None:
        return state_of_error(report.letters_error)
    return Failed(name="NotMoved", message=line) if report.not_moved else Completed(message=line)


def _stopped(ended_by: str | None, line: str, error: ProofsweepError | None = None) -> State[Any]:
    if ended_by == EndedBy.CANCELLED:
        return Cancelled(message=line, data=error)
    name = next((name for ending, name in NAMES.items() if ending == ended_by), "Failed")
    return Failed(name=name, message=line, data=error)
