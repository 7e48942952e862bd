"""A rehearsal of this catalog, by this store's history, this key's quota and the bounds that are given."""

from datetime import timedelta

import pytest

from proofsweep.errors import UsageError
from proofsweep.model.bounds import Bounds
from proofsweep.model.forecast import Bind, Measurement
from proofsweep.model.observed import ObservedLane, ObservedService
from proofsweep.model.selection import Selection
from proofsweep.settings import Settings
from proofsweep.verify.plan.examine_service import ServiceStatus
from proofsweep.wiring.engines import utc_now
from proofsweep.wiring.rehearsals import rehearsal_for
from proofsweep.wiring.runs import Surveyed, surveyed

SEEN = ObservedService(
    origin="a sample of 20", rows=20, slot_seconds=(1.0,), verify_seconds=(1.0,), lane=ObservedLane(rate=8.0, burst=4.0)
)
SAMPLE = Measurement(rows=20, seconds=5.0, calls=42, quota_spent=40, service=SEEN)


@pytest.fixture
def found(settings: Settings, catalog: str) -> Surveyed:
    """The catalog of three files."""
    return surveyed(settings, catalog, Selection(), deep=False, max_calls=None)


def test_without_any_measurement_a_sample_or_a_rate_is_asked_for(settings: Settings, found: Surveyed) -> None:
    """No figure is invented."""
    with pytest.raises(UsageError, match=r"give --sample 20 .* or --rate N"):
        rehearsal_for(settings, found, ServiceStatus(), Bounds())


def test_a_rate_alone_gives_the_earliest_end_and_says_so(settings: Settings, found: Surveyed) -> None:
    """Six calls, of which the first is let through at once."""
    told = rehearsal_for(settings, found, ServiceStatus(), Bounds(), rate=1.0)

    assert 3.0 < told.seconds < 10.0
    assert any("this or later" in sentence for sentence in told.assumed)


def test_a_sample_is_what_a_rehearsal_rests_on(settings: Settings, found: Surveyed) -> None:
    """Two seconds for each file, all at once; the pool of this profile has four workers."""
    told = rehearsal_for(settings, found, ServiceStatus(), Bounds(), sample=SAMPLE)

    assert told.seconds == pytest.approx(2.0, abs=0.5)
    assert (told.rows, told.rows_left, told.service.origin) == (3, 0, "a sample of 20")
    assert [remedy.amount for remedy in told.remedies if remedy.bind is Bind.THREADS] == [8.0]


def test_an_assumed_lane_keeps_the_proportion_of_its_bucket(settings: Settings, found: Surveyed) -> None:
    """Half a second of calls."""
    told = rehearsal_for(settings, found, ServiceStatus(), Bounds(), sample=SAMPLE, rate=20.0)

    assert (told.service.lane.rate, told.service.lane.burst) == (20.0, 10.0)


def test_quota_and_window_bound_the_rows(settings: Settings, found: Surveyed) -> None:
    """What the sample spent is gone; a window that closes now lets nothing begin."""
    quota = rehearsal_for(settings, found, ServiceStatus(headroom=45), Bounds(), sample=SAMPLE)
    closing = Bounds(closes_at=utc_now() - timedelta(seconds=1))
    window = rehearsal_for(settings, found, ServiceStatus(), closing, sample=SAMPLE)

    assert (quota.rows, quota.binds) == (2, Bind.QUOTA)
    assert (window.rows, window.binds) == (0, Bind.WINDOW)
