"""The calls that a lane let through between two 429s."""

import pytest

from proofsweep.partner.pacing.lane_model import Cycle, CycleRecorder, Sent, joined


def cycle(paused: float, active: float, rate: float = 20.0, burst: float = 10.0) -> Cycle:
    """Make the cycle of a pause and of a time in which every token of a bucket is used."""
    return Cycle(stretches=[(paused, 0), (active, round(min(burst, rate * paused) + rate * active))])


def test_a_bucket_that_holds_all_that_a_pause_brings_loses_nothing() -> None:
    """Then the rate is all calls divided by all the time."""
    assert cycle(1.0, 9.0, burst=40.0).rate(burst=40.0) == pytest.approx(20.0, rel=0.01)


def test_a_lane_that_was_never_throttled_begins_full() -> None:
    """The calls of a search before the first 429 include the whole bucket."""
    search = Cycle(stretches=[(1.0, 20), (0.5, 19)], begins_full=True)

    assert search.rate(burst=10.0) == pytest.approx(20.0, rel=0.01)


def test_no_cycle_admits_more_than_the_rate_gives() -> None:
    """Whatever its size, an empty bucket gives only what it gains."""
    assert cycle(1.0, 3.0).rate(burst=1e6) == pytest.approx((10 + 60) / 4, rel=0.01)


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


def test_a_recorder_gives_the_calls_and_the_pause_before_them() -> None:
    """The refused call is not one of those let through; calls sent after it belong to nothing."""
    recorder = CycleRecorder()
    recorder.begin(Sent(0.0, 7))
    sent = [recorder.send(1.0 + 0.1 * number, 10.0, was_held_back=number > 0) for number in range(12)]

    recorded = recorder.until(sent[10], begins_full=False)

    assert recorded.calls == 10
    assert recorded.stretches[0] == (1.0, 0)
    assert recorded.seconds == pytest.approx(2.0)


def test_a_cycle_can_begin_after_its_first_calls() -> None:
    """A burst that tested the bucket shows no rate."""
    recorder = CycleRecorder()
    recorder.begin(Sent(0.0, 3))
    burst = [recorder.send(1.0 + 0.02 * number, 50.0, was_held_back=True) for number in range(20)]
    sent = [recorder.send(burst[-1].at + 0.5 * number, 2.0, was_held_back=True) for number in range(1, 12)]

    recorded = recorder.until(sent[-1], begins_full=True, since=20)

    assert recorded.calls == 10
    assert recorded.rate(burst=1.0) < 4.0


def test_a_recorder_with_many_changes_of_pace_keeps_all_calls() -> None:
    """Its marks become fewer, its sum does not."""
    recorder, now = CycleRecorder(), 0.0
    for number in range(5_000):
        now += 0.01
        sent = recorder.send(now, 100.0 + 50 * (number % 2), was_held_back=True)

    recorded = recorder.until(sent, begins_full=True)

    assert recorded.calls == 4_999
    assert len(recorded.stretches) < 120
