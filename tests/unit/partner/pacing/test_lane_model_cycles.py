"""The calls that a lane let through between two 429s."""

import pytest

from proofsweep.partner.pacing.lane_model import Cycle, CycleRecorder, joined


def cycle(paused: float, active: float, rate: float = 20.0, burst: float = 10.0) -> Cycle:
    """Make the cycle of a pause and of a time in which every token of a bucket is used."""
    return Cycle(stretches=[(paused, 0), (active, round(min(burst, rate * paused) + rate * active))])


def test_an_hour_without_a_call_does_not_lower_the_rate() -> None:
    """Tokens that a full bucket cannot hold are lost, and show nothing."""
    idle = Cycle(stretches=[(3_600.0, 0), (30.0, 610)])

    assert idle.rate(burst=10.0) == pytest.approx(20.0, rel=0.01)


def test_a_burst_at_the_end_shows_a_high_rate() -> None:
    """An average over the slow time before would hide it."""
    slow_then_fast = Cycle(stretches=[(60.0, 180), (5.0, 2_000)])

    assert slow_then_fast.rate(burst=100.0) > 370.0


def test_joined_cycles_keep_their_pauses() -> None:
    """Tokens were added meanwhile."""
    whole = joined([cycle(1.0, 2.0), cycle(1.5, 4.0)])

    assert whole.seconds == 8.5
    assert whole.calls == cycle(1.0, 2.0).calls + cycle(1.5, 4.0).calls


def test_a_recorder_with_many_changes_of_pace_keeps_all_calls() -> None:
    """Its marks become fewer, its sum does not."""
    recorder, now = CycleRecorder(), 0.0
    for number in range(5_000):
        now += 0.01
        sent = recorder.send(now, 100.0 + 50 * (number % 2), was_held_back=True)

    recorded = recorder.until(sent, begins_full=True)

    assert recorded.calls == 4_999
    assert len(recorded.stretches) < 120
