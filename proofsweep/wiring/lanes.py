"""The lane of a key, from the settings: where it is shared, and with what a leg begins."""

from datetime import timedelta

from proofsweep.client.rate_share import LanePriority
from proofsweep.domain.runs import INGEST, Plan
from proofsweep.store import layout
from proofsweep.store.objects import open_store
from proofsweep.verify.history import last_rate
from proofsweep.verify.lane_sharing import LaneObject, LaneSharing
from proofsweep.wiring.engines import Engine, utc_now
from proofsweep.wiring.stores import results_for

FLOOR_CALLS_PER_SECOND = 1.0
"""What a sweep keeps for itself while an ingest pass uses the same key."""
_RATE_IS_KEPT = timedelta(days=7)


def remembered_rate(engine: Engine, processes: int = 1) -> float | None:
    """Return the rate with which a leg begins, or a process's share of it; None if no earlier leg has learned one."""
    settings, since = engine.settings, utc_now() - _RATE_IS_KEPT
    rate = last_rate(results_for(settings), settings.service.base_url, engine.key_fingerprint, since)
    return None if rate is None else rate / processes


def lane_sharing(engine: Engine, plan: Plan) -> LaneSharing:
    settings = engine.settings
    folder = layout.lane_folder(engine.key_fingerprint, settings.service.base_url)
    return LaneSharing(
        lane=LaneObject(open_store(settings.results.url), folder),
        dispatcher=engine.dispatcher,
        clock=utc_now,
        priority=LanePriority.INGEST if plan.catalog_kind == INGEST else LanePriority.VERIFY,
        floor_rate=FLOOR_CALLS_PER_SECOND,
        remember_seconds=_RATE_IS_KEPT.total_seconds(),
    )
