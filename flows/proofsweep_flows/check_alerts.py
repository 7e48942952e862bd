"""Look from outside the runs at what somebody must be told."""

from typing import Any

from prefect import flow, get_run_logger
from prefect.client.schemas.objects import State
from prefect.states import Completed

from proofsweep.app import App
from proofsweep_flows.ended_flow import ended_flow
from proofsweep_tasks.this_flow_run import tell_alerts


@flow(name="check-alerts", retries=0, persist_result=False)
def check_alerts(
    catalogs: list[str] | None = None, config: str | None = None, results: str | None = None
) -> State[Any]:
    """Tell of nights without a successful run, of rows that remain, of key, quota and usage, and the day's records.

    Args:
        catalogs: each must have a successful run in `alerts.no_success_hours`; None asks for one of any catalog.
        config: a profile's name or a config file's path; None for the default.
        results: the results store; None for the one in the settings.
    """

    def work(app: App) -> State[Any]:
        check = app.alert_check(catalogs or [])
        tell_alerts(app, check.gather)
        for line in check.skipped:
            get_run_logger().warning(line)
        return Completed(message=" ".join(["What must be told is told.", *check.skipped]))

    return ended_flow(config, results, work, tells_itself=True)
