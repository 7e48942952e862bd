"""Look from outside the runs at what somebody must be told."""

from pathlib import Path

from prefect import flow, get_run_logger

from proofsweep.bootstrap.alerts_check import Check
from proofsweep.logs import set_up_logs
from proofsweep.settings import load_settings
from tasks.key_block import read_block
from tasks.tell_alerts import tell_alerts


@flow(name="check-alerts", retries=0, persist_result=False)
def check_alerts(catalogs: list[str] | None = None, config: str | None = None, results: str | None = None) -> None:
    """Tell of nights without a successful run, of rows that remain, of the key, the quota and its usage.

    Args:
        catalogs: each must have a successful run in `alerts.no_success_hours`; None asks for one of any catalog.
        config: a profile's name or a config file's path; None for the default.
        results: the results store; None for the one in the settings.
    """
    set_up_logs()
    check = Check(load_settings(config, results), catalogs or [], str(Path.cwd()), read_block)
    tell_alerts(check.occasion)
    for line in check.skipped:
        get_run_logger().warning(line)
