"""Probe the service, and tell somebody what lasts."""

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from proofsweep.bootstrap import monitoring
from proofsweep.domain.alerts.messages import AlertKind
from proofsweep.domain.runs import EndedBy
from proofsweep.errors import ProofsweepError
from proofsweep.logs import set_up_logs
from proofsweep.reporting.service_state import line_of_round
from proofsweep.settings import load_settings
from tasks.end_states import NAMES, state_of_error
from tasks.key_block import read_block
from tasks.known_ends import log_known_ends_on_one_line
from tasks.tell_alerts import tell_alerts


@flow(name="monitor-service", retries=0, persist_result=False)
def monitor_service(config: str | None = None, results: str | None = None) -> State[Any]:
    """Make one round of monitoring: Completed also if the service is down, since that is what it found.

    (1) ask for health and usage, and write both down, (2) tell what lasts; a key that is refused for long is told by
    Prefect as the state KeyRefused.

    Args:
        config: a profile's name or a config file's path; None for the default.
        results: the results store; None for the one in the settings.
    """
    set_up_logs()
    log_known_ends_on_one_line()
    try:
        monitored = monitoring.monitor_service(load_settings(config, results), read_block)  # (1)
    except ProofsweepError as error:
        return state_of_error(error)
    tell_alerts(monitored.occasion)  # (2)
    line = line_of_round(monitored.round.probes)
    if any(alert.kind is AlertKind.KEY_REFUSED for alert in monitored.alerts):
        return Failed(name=NAMES[EndedBy.KEY_REFUSED], message=line)
    return Completed(message=line)
