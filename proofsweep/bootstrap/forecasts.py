"""Forecasts, wired: from a catalog's needs, the service's quota and what earlier legs took."""

from proofsweep.bootstrap.engines import Engine, limits_for, utc_now
from proofsweep.bootstrap.runs import catalog_for, results_for
from proofsweep.contract.limits import CALLS_PER_ITEM
from proofsweep.domain.budget.bounds import Bounds
from proofsweep.domain.budget.forecast import Forecast, Measured, Need, Quota, forecast
from proofsweep.domain.items import WorkItem
from proofsweep.domain.outcomes import Deferred, Finished
from proofsweep.errors import CallFailed
from proofsweep.settings import Settings
from proofsweep.usecases.item.verify_item import VerifyContext, verify_item
from proofsweep.usecases.plan.examine_service import ServiceStatus
from proofsweep.usecases.plan.history import measured_legs
from proofsweep.usecases.plan.sample import measure_sample, spread
from proofsweep.usecases.plan.survey import items_of


def forecast_for(
    settings: Settings, need: Need, seen: ServiceStatus, bounds: Bounds, sample: Measured | None = None
) -> Forecast:
    """Forecast a run that begins now; a sample that was just measured counts before all history."""
    history = measured_legs(results_for(settings), settings.service.environment)
    history = history if sample is None else [sample, *history]
    spent = 0 if sample is None else sample.quota_spent or 0
    left = None if seen.headroom is None else seen.headroom - spent
    quota = Quota(headroom=left, reset=seen.quota_reset, bounds=bounds)
    return forecast(need, quota, history, utc_now(), settings.bounds.ask_seconds)


def sample_of(engine: Engine, location: str, need: Need, *, count: int, reserve: int) -> Measured | None:
    """Send so many items of a catalog, spread over it, and measure; the answers are not kept.

    None if they turn out to be nothing that can be sent.

    Raises:
        RunMustStop: the quota or the service does not allow it.
    """
    settings = engine.settings
    seen = engine.examined(reserve + CALLS_PER_ITEM * (count - 1))
    items = list(spread(items_of(catalog_for(settings, location), limits_for(settings)), need.eligible, count))

    means = VerifyContext(engine.partner, engine.limits, engine.sources)

    def verify(item: WorkItem) -> Finished | Deferred:
        return verify_item(item, means, utc_now)

    def ask_headroom() -> int | None:
        try:
            return engine.partner.with_attempts(1).usage(days=1)[1].rate_remaining
        except CallFailed:
            return None

    measured = measure_sample(items, verify, engine.workers, ask_headroom, seen.headroom)
    engine.stop.check()
    return measured
