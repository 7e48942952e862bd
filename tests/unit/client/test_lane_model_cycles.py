"""The calls that a lane let through between two 429s."""

from proofsweep.client.lane_model import Cycle, CycleRecorder


def test_a_burst_at_the_end_shows_a_high_rate() -> None:
    """An average over the slow time before would hide it."""
    slow_then_fast = Cycle(stretches=[(60.0, 180), (5.0, 2_000)])

    assert slow_then_fast.rate(burst=100.0) > 370.0


def test_a_recorder_with_many_changes_of_pace_keeps_all_calls() -> None:
    """Its marks become fewer, its sum does not."""
    recorder, now = CycleRecorder(), 0.0
    for number in range(5_000):
        now += 0.01
        sent = recorder.send(now, 100.0 + 50 * (number % 2), was_held_back=True)

    recorded = recorder.until(sent, begins_full=True)

    assert recorded.calls == 4_999
    assert len(recorded.stretches) < 120
