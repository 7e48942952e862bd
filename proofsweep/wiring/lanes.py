"""The lane of a key, from the settings: where it is shared, and with what a leg begins."""

from datetime import timedelta

from proofsweep.model import layout
from proofsweep.model.lane import LanePriority
from proofsweep.model.runs import INGEST, Plan
from proofsweep.settings import Settings
from proofsweep.store.lanes import LaneObject
from proofsweep.store.store import Store, open_store
from proofsweep.verify.leg.lane_sharing import LaneSharing
from proofsweep.verify.leg.note_leg import last_rate
from proofsweep.wiring.engines import Engine, utc_now
from proofsweep.wiring.stores import results_for


def remembered_rate(engine: Engine, processes: int = 1) -> float | None:
    """Return the rate with which a leg begins, or a process's share of it; None if no earlier leg has learned one."""
    settings, since = engine.settings, utc_now() - timedelta(days=engine.settings.pace.remember_days)
    rate = last_rate(results_for(settings), settings.service.base_url, engine.key_fingerprint, since)
    return None if rate is None else rate / processes


def lane_sharing(engine: Engine, plan: Plan) -> LaneSharing:
    """Return this process's part in the lane of the key in use: new files go first."""
    settings = engine.settings
    folder = layout.lane_folder(engine.key_fingerprint, settings.service.base_url)
    return LaneSharing(
        lane=LaneObject(lane_store(settings), folder),
        dispatcher=engine.dispatcher,
        clock=utc_now,
        priority=LanePriority.INGEST if plan.catalog_kind == INGEST else LanePriority.VERIFY,
        floor_rate=settings.pace.floor_rate,
        remember_seconds=timedelta(days=settings.pace.remember_days).total_seconds(),
    )


def lane_store(settings: Settings) -> Store:
    """Open the store where processes with one key share its lane."""
    return open_store(settings.pace.lane_url or settings.results.url, "store of the lane")
