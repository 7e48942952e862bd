"""Monitoring, wired: one round with connections of its own, and what must be told after it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from proofsweep import __version__
from proofsweep.bootstrap.alerts import Occasion
from proofsweep.bootstrap.engines import ReadBlock, build_engine, utc_now
from proofsweep.bootstrap.operations import new_operation
from proofsweep.bootstrap.stores import results_for
from proofsweep.domain.alerts.memory import IsTold
from proofsweep.domain.alerts.messages import Alert
from proofsweep.domain.alerts.of_monitoring import MonitorRules, alerts_of_probes
from proofsweep.domain.operations import OperationKind
from proofsweep.domain.runs import EndedBy
from proofsweep.errors import ResultsError
from proofsweep.logs import Event, log
from proofsweep.settings import Settings
from proofsweep.storage.results.operations import Operations
from proofsweep.storage.results.plans_and_parts import Results
from proofsweep.usecases.alerts.teller import Decide
from proofsweep.usecases.monitoring.probe_service import Round, probe_service
from proofsweep.usecases.monitoring.recent_probes import recent_probes
from proofsweep.usecases.operations.operation_log import OperationLog
from proofsweep.usecases.upkeep.merge_rounds import RoundMerger


@dataclass(frozen=True, slots=True, kw_only=True)
class Monitored:
    """One round, and what its probes and those before it show.

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
        return Occasion(self.settings, lambda: (self.decide, self.over))

    @property
    def decide(self) -> Decide:
        """Decide alike, whatever was told."""

        def decide(_is_told: IsTold) -> Sequence[Alert]:
            return self.alerts

        return decide


def monitor_service(settings: Settings, read_block: ReadBlock | None = None) -> Monitored:
    """Make one round of monitoring, and write it down.

    Its engine is its own: what an earlier round or a run has seen fail must not hold this probe back.

    Raises:
        ConfigError, ResultsError: the key cannot be had, or the store cannot be used.
    """
    engine, results = build_engine(settings, read_block), results_for(settings)
    operation = new_operation(settings, OperationKind.MONITORING)
    record = OperationLog(operation, Operations(results), utc_now, keeps_exchanges=False)
    try:
        facts = {"key_fingerprint": engine.key_fingerprint, "proofsweep_version": __version__}
        found = probe_service(engine.partner, record)
    finally:
        engine.close()
    record.end(EndedBy.COMPLETE, facts)
    _merge_past_day(results)
    rules = MonitorRules(
        environment=settings.service.environment,
        low_quota_percent=settings.alerts.low_quota_percent,
        slow_factor=settings.alerts.slow_factor,
    )
    alerts, over = alerts_of_probes(recent_probes(results, rules.environment, utc_now()), rules)
    return Monitored(settings=settings, round=found, alerts=alerts, over=over)


def _merge_past_day(results: Results) -> None:
    """Merge the rounds of the newest day that may be merged, once; a store that fails now is asked again next time."""
    merger = RoundMerger(results, utc_now)
    try:
        merger.merge(merger.newest_day)
    except ResultsError as error:
        log(Event.UPDATE_MISSED, what="monitoring", why=error.message)
