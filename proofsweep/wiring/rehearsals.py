"""A rehearsal, from the settings: tonight's catalog, quota and window, played with what earlier legs have shown."""

import math
from contextlib import suppress
from dataclasses import replace

from proofsweep.errors import ConfigError, ResultsError, UsageError
from proofsweep.model.bounds import Bounds
from proofsweep.model.forecast import Measurement, Need, Quota, rows_left_by
from proofsweep.model.observed import ObservedLane, ObservedService
from proofsweep.model.rehearsal import Rehearsal
from proofsweep.settings import Settings
from proofsweep.verify.leg.workers import most_open_files, workers_that_fit
from proofsweep.verify.plan.examine_service import ServiceStatus
from proofsweep.verify.plan.history import measured_history, quota_after
from proofsweep.verify.plan.observed_legs import observed_service
from proofsweep.verify.plan.survey import Surveyed
from proofsweep.verify.rehearsal.play import Night
from proofsweep.verify.rehearsal.rehearse import Tonight, rehearse
from proofsweep.wiring.engines import engine_for, utc_now
from proofsweep.wiring.key_sources import ReadBlock
from proofsweep.wiring.lanes import remembered_rate
from proofsweep.wiring.stores import results_for


def rehearsal_for(
    settings: Settings,
    found: Surveyed,
    service: ServiceStatus,
    bounds: Bounds,
    *,
    sample: Measurement | None = None,
    rate: float | None = None,
    read_block: ReadBlock | None = None,
) -> Rehearsal:
    """Rehearse a run of a catalog that begins now; `rate` is a lane that a person assumes, in calls per second.

    Raises:
        UsageError: nothing was ever measured, and no lane is assumed.
        ResultsError: the store cannot be read.
    """
    results, environment, now = results_for(settings), settings.service.environment, utc_now()
    history = measured_history(results, environment, sample)
    seen = observed_service(results, environment, next((one for one in history if one.service), None), history)
    if seen is None and rate is None:
        raise UsageError(
            f"Nothing was measured yet with {settings.service.environment!r}, so there is nothing to rehearse with: "
            "give --sample 20 to send a few files, or --rate N to assume how many calls a second the service lets "
            "through."
        )
    seen = seen or ObservedService(origin="nothing that was measured")
    need = Need(eligible=found.survey.eligible, audio_bytes=found.survey.audio_bytes)
    quota = Quota(headroom=service.headroom, reset=service.quota_reset, bounds=bounds)
    closes_at, pace = bounds.closes_at, settings.pace
    night = Night(
        sizes=found.survey.sizes or [],
        service=seen if rate is None else replace(seen, lane=_assumed_lane(seen.lane, rate)),
        workers=workers_that_fit(pace.workers, most_open_files()),
        known_rate=_known_rate(settings, read_block),
        first_rate=pace.first_rate,
        detects_limit=pace.detect_cap,
        closes_after_seconds=math.inf if closes_at is None else max(0.0, (closes_at - now).total_seconds()),
    )
    left = rows_left_by(need, quota_after(quota, sample), history)
    return rehearse(Tonight(night=night, left=left, now=now, assumed_rate=rate))


def _assumed_lane(seen: ObservedLane, rate: float) -> ObservedLane:
    """Return a lane of another rate, whose bucket holds the calls of as many seconds."""
    burst_seconds = seen.burst / seen.rate if seen.rate else 1.0
    return replace(seen, rate=rate, burst=max(1.0, burst_seconds * rate), most_at_once=None)


def _known_rate(settings: Settings, read_block: ReadBlock | None) -> float | None:
    """Return the rate with which the run would begin; a plan needs no key, and knows none without it."""
    with suppress(ConfigError, ResultsError):
        return remembered_rate(engine_for(settings, read_block))
    return None
