"""Monitoring, wired: one pass with connections of its own, and what must be told after it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from proofsweep.alerts.messages import Alert
from proofsweep.alerts.monitoring_alerts import MonitorRules, alerts_of_probes
from proofsweep.alerts.recent_probes import recent_probes
from proofsweep.errors import ResultsError
from proofsweep.logs import Event, log
from proofsweep.model.tables.columns import Row
from proofsweep.operations.probe_service import Round, probe_service
from proofsweep.settings import Settings
from proofsweep.store.probes import add_pass, publish_hours
from proofsweep.wiring.alerts import Occasion
from proofsweep.wiring.engines import ReadBlock, build_engine, utc_now
from proofsweep.wiring.operations import new_id
from proofsweep.wiring.stores import results_for


@dataclass(frozen=True, slots=True, kw_only=True)
class Monitored:
    """One pass, and what its probes and those before it show.

    Attributes:
        alerts: that hold now, told before or not.
        over: the begins of causes that are over.
    """

    settings: Settings
    round: Round
    alerts: Sequence[Alert]
    over: Sequence[str] = field(default_factory=list)

    @property
    def occasion(self) -> Occasion:
        """Give what tells somebody."""
        return Occasion(self.settings, lambda: (self.alerts, self.over))


def monitor_service(settings: Settings, read_block: ReadBlock | None = None) -> Monitored:
    """Make one pass of monitoring, and write it down.

    Its engine is its own: what an earlier pass or a run has seen fail must not hold this probe back.

    Raises:
        ConfigError, ResultsError: the key cannot be had, or the store cannot be used.
    """
    engine, results, began = build_engine(settings, read_block), results_for(settings), utc_now()
    try:
        found = probe_service(engine.partner)
    finally:
        engine.close()
    pass_id, service = new_id(began), settings.service
    own: Row = {"operation_id": pass_id, "environment": service.environment, "base_url": service.base_url}
    add_pass(results, pass_id, began, found.rows(own))
    try:
        publish_hours(results, began)
    except ResultsError as error:  # the next pass does it
        log(Event.UPDATE_MISSED, what="monitoring", why=error.message)
    rules = MonitorRules(
        environment=settings.service.environment,
        low_quota_percent=settings.alerts.low_quota_percent,
        slow_factor=settings.alerts.slow_factor,
    )
    alerts, over = alerts_of_probes(recent_probes(results, rules.environment, utc_now()), rules)
    return Monitored(settings=settings, round=found, alerts=alerts, over=over)
