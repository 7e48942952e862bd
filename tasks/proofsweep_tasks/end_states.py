"""The Prefect state in which a flow run ends: its name says how, so that an automation can match it."""

from collections import Counter
from typing import Any

from prefect.client.schemas.objects import State
from prefect.states import Cancelled, Completed, Failed

from proofsweep.alerts.rules import OF_TYPE_CANCELLED, OF_TYPE_COMPLETED, state_after_error, state_of_run
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ProofsweepError
from proofsweep.ingest.pass_report import PassReport
from proofsweep.queries.status import RunStatus
from proofsweep.reports.run import line_of


def state_after_run(run: RunStatus) -> State[str]:
    """Return the state that says how a run stands.

    SomeFailed is of the type Completed too; AllFailed, where no row was answered, is of the type Failed.
    """
    name = state_of_run(run.ended_by, is_over=run.is_over, failed=run.rows("failed"), answered=run.answered)
    run_id = run.plan.run_id if name in OF_TYPE_COMPLETED else None
    return _named(name, line_of(run), run_id)


def state_of_error(error: ProofsweepError) -> State[Any]:
    """Return the state of a run that a known error ended. A caller in this process finds the error in its result."""
    # It is returned, not raised: Prefect logs a traceback for what is raised.
    return _named(state_after_error(error), error.message, error)


def state_of_pass(report: PassReport, line: str) -> State[Any]:
    """Return the state of a pass over a watched folder that came to its end: NotMoved if files could not be moved.

    Else it says how its rows ended, also those of a run that a killed pass had ended.
    """
    rows = Counter(row["outcome"] for row in report.rows)
    answered = rows["accepted"] + rows["rejected"]
    state = state_of_run(EndedBy.COMPLETE, is_over=True, failed=rows["failed"], answered=answered)
    return _named("NotMoved" if report.not_moved else state, line)


def _named(name: str, line: str, data: object = None) -> State[Any]:
    of_type = Failed
    if name in OF_TYPE_COMPLETED:
        of_type = Completed
    elif name in OF_TYPE_CANCELLED:
        of_type = Cancelled
    return of_type(name=name, message=line, data=data)
