"""Look from outside the runs: probe the service, or look for what no run can tell; and tell somebody."""

from typing import Any, Literal

from prefect import flow, get_run_logger
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from proofsweep.alerts.rules import AlertKind
from proofsweep.app import App
from proofsweep_flows.ended_flow import ended_flow
from proofsweep_tasks.this_flow_run import send_alerts


@flow(name="check-service", retries=0, persist_result=False)
def check_service(
    kind: Literal["probe", "alerts"],
    catalogs: list[str] | None = None,
    config: str | None = None,
    results: str | None = None,
) -> State[Any]:
    """Probe the service, and tell what lasts; or tell of nights without a successful run, rows, the key and the quota.

    It is Completed also if the service is down, since that is what it found. A key that is refused for long is told by
    Prefect as the state KeyRefused.

    Args:
        kind: whether it probes, which writes into `probes`, or looks for alerts.
        catalogs: for alerts, each must have a successful run in `alerts.no_success_hours`; None asks for any catalog's.
        config: a profile's name or a config file's path; None for the default.
        results: the results store; None for the one in the settings.
    """

    def work(app: App) -> State[Any]:
        if kind == "probe":
            return _probed(app)
        return _alerted(app, catalogs or [])

    return ended_flow(config, results, work, tells_itself=True)


def _probed(app: App) -> State[Any]:
    batch, alerts, over = app.monitored()
    send_alerts(app, lambda: (alerts, over))
    if any(alert.kind is AlertKind.KEY_REFUSED for alert in alerts):
        return Failed(name="KeyRefused", message=batch.line())
    return Completed(message=batch.line())


def _alerted(app: App, catalogs: list[str]) -> State[Any]:
    check = app.alert_check(catalogs)
    send_alerts(app, check.gather)
    for line in check.skipped:
        get_run_logger().warning(line)
    message = " ".join(["What must be told is told.", *check.skipped])
    return Completed(message=message)
