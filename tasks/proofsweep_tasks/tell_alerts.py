"""Tell somebody from within a flow: through the settings' receivers, and as events that Prefect's automations match."""

import sys
from collections.abc import Sequence

from prefect.context import FlowRunContext
from prefect.events import emit_event
from prefect.runtime import flow_run

from proofsweep.alerts.ends import AlertScope
from proofsweep.alerts.messages import Alert
from proofsweep.alerts.notifier import Channel, Gather, complaints_of
from proofsweep.logs import Event, log
from proofsweep.text import printable
from proofsweep_tasks.key_block import read_block


class PrefectEvents:
    """Emits each alert as an event; the automations of deploy/automations.py send it on."""

    def __len__(self) -> int:
        """Count the server as one."""
        return 1

    def send(self, alerts: Sequence[Alert]) -> list[list[str]]:
        """Emit alerts; whether an automation takes them is not known here."""
        run = f"prefect.flow-run.{flow_run.get_id()}"
        for alert in alerts:
            emit_event(
                event=f"proofsweep.alert.{alert.kind}",
                resource={"prefect.resource.id": f"proofsweep.alert.{flow_run.get_id()}.{alert.kind}"},
                related=[{"prefect.resource.id": run, "prefect.resource.role": "flow-run"}],
                payload={"subject": alert.subject, "body": alert.body},
            )
        return [[] for _ in alerts]


def is_deployed() -> bool:
    """Whether a deployment's run is at work. `prefect.runtime` would ask the server, which may be lost or slow."""
    context = FlowRunContext.get()
    return context is not None and context.flow_run is not None and context.flow_run.deployment_id is not None


def channels() -> list[Channel]:
    """Return what a deployment has beside the settings' receivers: its server. A command's run has nothing."""
    return [PrefectEvents()] if is_deployed() else []


def page_of_flow_run() -> str | None:
    """Return the address of the flow run's page, by `PREFECT_UI_URL` or the address of the API; None without it."""
    return flow_run.get_flow_run_ui_url() if is_deployed() else None


def tell_alerts(scope: AlertScope, gather: Gather | None) -> None:
    """Tell what must be told, each cause once. If that fails, one line says so."""
    for line in (
        []
        if gather is None
        else complaints_of(lambda: scope.notifier(read_block, channels(), page_of_flow_run()), gather)
    ):
        log(Event.ALERT_MISSED, why=line)
        sys.stderr.write(f"proofsweep: {printable(line)}\n")
