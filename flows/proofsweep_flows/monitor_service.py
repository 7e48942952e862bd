"""Probe the service, and tell somebody what lasts."""

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from proofsweep.alerts.rules import AlertKind
from proofsweep.app import App
from proofsweep_flows.ended_flow import ended_flow
from proofsweep_tasks.this_flow_run import tell_alerts


@flow(name="monitor-service", retries=0, persist_result=False)
def monitor_service(config: str | None = None, results: str | None = None) -> State[Any]:
    """Make one round of monitoring: Completed also if the service is down, since that is what it found.

    (1) ask for health and usage, and write both down, (2) tell what lasts; a key that is refused for long is told by
    Prefect as the state KeyRefused.

    Args:
        config: a profile's name or a config file's path; None for the default.
        results: the results store; None for the one in the settings.
    """

    def work(app: App) -> State[Any]:
        monitored = app.monitored()  # (1)
        tell_alerts(app, lambda: (monitored.alerts, monitored.over))  # (2)
        line = monitored.batch.line()
        if any(alert.kind is AlertKind.KEY_REFUSED for alert in monitored.alerts):
            return Failed(name="KeyRefused", message=line)
        return Completed(message=line)

    return ended_flow(config, results, work, tells_itself=True)
