"""Forecasts, wired: from a catalog's needs, the service's quota and what earlier legs took."""

import os
from contextlib import suppress

from proofsweep.catalog.catalog import Catalog
from proofsweep.contract.limits import CALLS_PER_ITEM
from proofsweep.errors import ResultsError
from proofsweep.files.locations import is_bucket, is_within, one_line
from proofsweep.settings import Settings
from proofsweep.store.run_index import RunIndex
from proofsweep.verify.budget.bounds import Bounds
from proofsweep.verify.item.verify_item import VerifyContext
from proofsweep.verify.plan.examine_service import ServiceStatus
from proofsweep.verify.plan.forecast import Forecast, Measurement, Need, Quota, forecast
from proofsweep.verify.plan.history import measured_legs, remember_sample, sample_since_last_leg
from proofsweep.verify.plan.sample import measure_sample, spread
from proofsweep.verify.plan.survey import items_of
from proofsweep.wiring.engines import Engine, limits_for, utc_now
from proofsweep.wiring.stores import results_for


def forecast_for(
    settings: Settings, need: Need, service: ServiceStatus, bounds: Bounds, sample: Measurement | None = None
) -> Forecast:
    """Forecast a run that begins now; a sample measured now, or since the last leg, counts before all legs."""
    results, environment = results_for(settings), settings.service.environment
    newest = sample or sample_since_last_leg(results, environment)
    history = [*([] if newest is None else [newest]), *measured_legs(results, environment)]
    spent = 0 if sample is None else sample.quota_spent or 0
    left = None if service.headroom is None else service.headroom - spent
    quota = Quota(headroom=left, reset=service.quota_reset, bounds=bounds)
    return forecast(need, quota, history, utc_now(), settings.bounds.ask_seconds)


def sample_of(engine: Engine, catalog: Catalog, need: Need, *, count: int, reserve: int) -> Measurement | None:
    """Send so many items of a catalog, spread over it, measure, and remember it; None if none of them was answered.

    Raises:
        RunMustStop: the quota or the service does not allow it.
    """
    service = engine.usable_service(reserve + CALLS_PER_ITEM * (count - 1))
    items = list(spread(items_of(catalog, limits_for(engine.settings)), need.eligible, count))
    files = engine.files.within(catalog.root)
    context = VerifyContext(partner=engine.partner, limits=engine.limits, files=files, clock=utc_now)
    measured = measure_sample(items, context, engine.workers, service.headroom)
    engine.stop.check()
    if measured is not None:
        with suppress(ResultsError):  # a person who plans may have no right to write
            remember_sample(
                results_for(engine.settings).store, engine.settings.service.environment, measured, utc_now()
            )
    return measured


_KEEP_APART = "give each its own (results.url or --results)"


def cautions_for(settings: Settings, catalog: str) -> list[str]:
    """Return what is unwise about a catalog's location and a results store together.

    Raises:
        ResultsError: the store cannot be read.
    """
    store = results_for(settings).store
    cautions = []
    if _lies_in(store.url, catalog):
        cautions.append(
            f"The results store {one_line(store.url)} lies inside the catalog's folder, so each scan reads it too: "
            "choose a place beside it (results.url or --results)."
        )
    wanted = settings.service.environment
    runs = RunIndex(results_for(settings)).refreshed().newest_first()
    others = sorted({run.plan.environment for run in runs} - {wanted}) if store.folders("_runs") else []
    if others:
        cautions.append(
            f"The results store {one_line(store.url)} holds runs of {', '.join(map(one_line, others))} too; queries "
            f"over all its tables mix them with those of {one_line(wanted)}: {_KEEP_APART}."
        )
    return cautions


def _lies_in(store: str, catalog: str) -> bool:
    if is_bucket(store) or is_bucket(catalog):
        return is_bucket(catalog) and is_within(store, catalog.rstrip("/"))
    return os.path.isdir(catalog) and is_within(os.path.realpath(store), os.path.realpath(catalog))  # noqa: PTH112 - text
