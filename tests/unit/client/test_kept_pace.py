"""The pace of a process that keeps to its part of a lane."""

import pytest

from proofsweep.client.lane_model import TokenBucket
from proofsweep.client.rate_share import KeptPace, LaneShare


def test_calls_go_at_the_rate_of_the_part() -> None:
    """The lane that it knows is the whole one."""
    pace = KeptPace(LaneShare(rate=4.0, bucket=TokenBucket(20.0, 5.0)))
    now = 100.0
    for _ in range(40):
        now = max(now, pace.next_at)
        pace.send(now)

    assert now - 100.0 == pytest.approx(39 / 4, abs=0.03)
    assert pace.learned_rate == 20.0


def test_a_429_pauses_and_moves_the_calls_to_another_moment() -> None:
    """Processes whose calls go at the same moment would be refused again and again."""
    pace = KeptPace(LaneShare(rate=0.5))

    pace.throttled(pace.send(10.0), 10.1234567, 1.0)

    assert 11.1 < pace.next_at < 13.2


def test_a_larger_part_holds_at_once() -> None:
    """The next call need not wait as long as it would have."""
    pace = KeptPace(LaneShare(rate=0.1))
    pace.send(10.0)

    pace.take(LaneShare(rate=10.0), 11.0)

    assert pace.next_at == pytest.approx(11.1)
