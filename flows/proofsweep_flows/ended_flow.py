"""The frame of every flow: it does the work, and tells somebody if its end needs a person."""

import sys
from collections.abc import Callable
from contextlib import nullcontext, suppress
from typing import Any

from prefect.client.schemas.objects import State
from prefect.runtime import flow_run

from proofsweep.alerts.rules import title_of_error
from proofsweep.app import App
from proofsweep.config.known_errors import known_error
from proofsweep.config.load import load_settings
from proofsweep.config.locations import path_here
from proofsweep.config.logs import json_lines
from proofsweep.config.threads import utc_now
from proofsweep.domain.errors import ProofsweepError
from proofsweep.domain.items import utf8_text
from proofsweep.verify.resume import resumable_since, run_worked_on_by
from proofsweep_tasks.end_states import state_of_error
from proofsweep_tasks.hanging_reads import hangs_told
from proofsweep_tasks.key_block import read_block
from proofsweep_tasks.stop_on_signals import STOP_ASKED
from proofsweep_tasks.this_flow_run import end_process_soon, is_deployed, outlive_worker, send_alerts


def ended_flow(
    config: str | None, results: str | None, work: Callable[[App], State[Any]], *, tells_itself: bool = False
) -> State[Any]:
    """Do a flow's work, and return the state in which it ends.

    (1) work, (2) tell somebody of the end, unless the work has told of the state that it returns (`tells_itself`),
    (3) end soon if asked to. A known error becomes a state; any other one is told, and raised again.
    """
    if is_deployed():
        outlive_worker()
    # In a deployment nobody looks at a terminal: events are JSON lines on stderr, for what collects them.
    with json_lines(sys.stderr) if is_deployed() else nullcontext():
        try:
            app = App.here(load_settings(config, results), read_block)
        except ProofsweepError as error:  # nobody is known who could be told
            state = state_of_error(error)
        else:
            state = _ended(app, work, tells_itself=tells_itself)
    if is_deployed() and STOP_ASKED.is_set():
        end_process_soon()  # (3)
    return state


def _ended(app: App, work: Callable[[App], State[Any]], *, tells_itself: bool) -> State[Any]:
    known: ProofsweepError | None = None
    with app, hangs_told():
        try:
            with app.away_is_outage():
                state = work(app)  # (1)
        except Exception as error:
            known = known_error(error)
            # A mistake of this program is told, and raised again: Prefect logs its traceback.
            if known is None:
                _tell(app, "Failed", f"A mistake of this program: {type(error).__name__}.")
                raise
            state = state_of_error(known)
            tells_itself = False  # the work did not come so far
        if not tells_itself:
            _tell(app, str(state.name), str(state.message), known)  # (2)
        return state


def _tell(app: App, state: str, message: str, error: ProofsweepError | None = None) -> None:
    name = str(flow_run.flow_name)
    kind = flow_run.parameters.get("kind")
    if kind:
        name = f"{name} {kind}"
    title = catalog = None
    if error is not None:
        title = title_of_error(error)
        catalog = error.catalog
    catalog = catalog or _catalog_of_flow(app)
    run_id = _run_of_flow(app)
    gather = app.alert_facts.end_of_flow(name, state, message, catalog=catalog, run_id=run_id, title=title)
    send_alerts(app, gather)


def _run_of_flow(app: App) -> str | None:
    """Return the run that the flow run was given, or of which it began a leg; None if it came to none."""
    run_id = flow_run.parameters.get("run_id")
    if run_id is not None:
        return str(run_id)
    since = resumable_since(utc_now())
    with suppress(ProofsweepError):
        return run_worked_on_by(app.results, str(flow_run.get_id()), since)
    return None


def _catalog_of_flow(app: App) -> str | None:
    """Return the location of the catalog or folder that the flow run is of, by its parameters; None if it has none."""
    parameters = flow_run.parameters
    location = parameters.get("catalog") or parameters.get("folder")
    run_id = parameters.get("run_id")
    with suppress(ProofsweepError):  # the flow run says what is wrong with them
        if location:
            return utf8_text(path_here(location))
        if run_id:
            return app.results.plan(run_id).catalog
    return None
