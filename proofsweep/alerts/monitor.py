"""One pass of monitoring: probe the service, keep what was found, and say which alerts hold."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from proofsweep.alerts.facts import recent_probes
from proofsweep.alerts.messages import Alert
from proofsweep.alerts.monitoring_alerts import MonitorRules, alerts_of_probes
from proofsweep.alerts.notifier import Decide
from proofsweep.errors import ResultsError
from proofsweep.logs import Event, log
from proofsweep.model.tables.columns import Row
from proofsweep.operations.operation_log import new_id
from proofsweep.operations.probe_service import ProbeBatch
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.probes import add_pass, publish_hours


@dataclass(frozen=True, slots=True, kw_only=True)
class Monitored:
    """One pass, and what its probes and those before it show."""

    batch: ProbeBatch
    alerts: Sequence[Alert]  # that hold now, told before or not
    over: Sequence[str]  # the begins of causes that are over

    def gather(self) -> tuple[Decide, Sequence[str]]:
        """Return what somebody is told."""
        return self.alerts, self.over


def monitor(
    results: Results, probe: Callable[[], ProbeBatch], base_url: str, rules: MonitorRules, clock: Callable[[], datetime]
) -> Monitored:
    """Make one pass: (1) probe, (2) write what was found, (3) decide."""
    began = clock()
    found = probe()  # (1)
    pass_id = new_id(began)
    own: Row = {"operation_id": pass_id, "environment": rules.environment, "base_url": base_url}
    add_pass(results, pass_id, began, found.rows(own))  # (2)
    try:
        publish_hours(results, began)
    except ResultsError as error:  # the next pass does it
        log(Event.UPDATE_MISSED, what="monitoring", why=error.message)
    alerts, over = alerts_of_probes(recent_probes(results, rules.environment, clock()), rules)  # (3)
    return Monitored(batch=found, alerts=alerts, over=over)
