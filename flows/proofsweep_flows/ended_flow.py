"""The frame of every flow: it does the work, and tells somebody if its end needs a person."""

import sys
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from prefect.client.schemas.objects import State
from prefect.runtime import flow_run

from proofsweep.alerts.facts import end_of_flow
from proofsweep.config.load import Settings, load_settings
from proofsweep.config.logs import json_lines
from proofsweep.domain.errors import ProofsweepError
from proofsweep.wiring.catalogs import away_is_outage
from proofsweep.wiring.stores import path_here
from proofsweep.wiring.watching import alert_scope
from proofsweep_tasks.end_soon import end_process_soon
from proofsweep_tasks.end_states import state_of_error
from proofsweep_tasks.run_of_retry import tries_left
from proofsweep_tasks.tell_alerts import is_deployed, tell_alerts


def ended_flow(
    config: str | None, results: str | None, work: Callable[[Settings], State[Any]], *, tells_itself: bool = False
) -> State[Any]:
    """Do a flow's work, and return the state in which it ends.

    (1) work, (2) tell somebody of the end, (3) end soon if asked to. In a deployment, events are JSON lines on stderr.

    Args:
        config: a profile's name or a config file's path; None for the default.
        results: the results store; None for the one in the settings.
        work: returns a state. A known error becomes one; any other is told, and raised again.
        tells_itself: whether the work has told of the state that it returns, with more to say.
    """
    with json_lines(sys.stderr) if is_deployed() else nullcontext():
        state = _ended(config, results, work, tells_itself=tells_itself)
    end_process_soon()  # (3)
    return state


def _ended(
    config: str | None, results: str | None, work: Callable[[Settings], State[Any]], *, tells_itself: bool
) -> State[Any]:
    try:
        settings = load_settings(config, results)
    except ProofsweepError as error:  # nobody is known who could be told
        return state_of_error(error)
    away: str | None = None
    try:
        with away_is_outage(settings):
            state = work(settings)  # (1)
    except ProofsweepError as error:
        state, tells_itself, away = state_of_error(error), False, error.catalog
    except Exception as error:
        _tell(settings, "Failed", f"A mistake of this program: {type(error).__name__}.")
        raise
    if not tells_itself:
        _tell(settings, str(state.name), str(state.message), away)  # (2)
    return state


def _tell(settings: Settings, state: str, message: str, away: str | None = None) -> None:
    name, scope = str(flow_run.flow_name), alert_scope(settings)
    named = flow_run.parameters.get("catalog") or flow_run.parameters.get("folder")
    catalog = path_here(str(named)) if named else None
    end = end_of_flow(scope, name, state, message, catalog=catalog, away=away, tries_left=tries_left())
    tell_alerts(scope, end)
