"""Tell somebody from within a flow, through the settings' receivers."""

import sys

from prefect.context import FlowRunContext
from prefect.runtime import flow_run

from proofsweep.alerts.send import Gather
from proofsweep.app import App
from proofsweep.config.logs import Event, log
from proofsweep.domain.text import printable


def is_deployed() -> bool:
    """Whether a deployment's run is at work. `prefect.runtime` would ask the server, which may be lost or slow."""
    context = FlowRunContext.get()
    return context is not None and context.flow_run is not None and context.flow_run.deployment_id is not None


def page_of_flow_run() -> str | None:
    """Return the address of the flow run's page, by `PREFECT_UI_URL` or the address of the API; None without it."""
    return flow_run.get_flow_run_ui_url() if is_deployed() else None


def tell_alerts(app: App, gather: Gather) -> None:
    """Tell what must be told, each cause once. If that fails, one line says so."""
    for line in app.tell(gather, page_of_flow_run):
        log(Event.ALERT_MISSED, why=line)
        sys.stderr.write(f"proofsweep: {printable(line)}\n")
