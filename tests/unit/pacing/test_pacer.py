"""The pacer learns a lane from counts and 429s alone; the test sets the time."""

import math
from collections import deque
from dataclasses import dataclass, field
from random import Random

import pytest

from proofsweep.pacing.lane_model import Sent
from proofsweep.pacing.pacer import FIRST_RATE, Pacer


@dataclass(slots=True)
class Lane:
    """A token bucket that answers after a while, and a pacer that sends to it as fast as it may."""

    pacer: Pacer
    rate: float
    burst: float
    longest_wait: float = math.inf
    at_random: float = 0.0
    answer_seconds: float = 0.0
    now: float = 0.0
    tokens: float = field(init=False)
    admitted: int = 0
    refused: int = 0
    chance: Random = field(default_factory=lambda: Random(1))  # noqa: S311 - draws, guards nothing
    on_their_way: deque[tuple[float, Sent, float]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.tokens = self.burst

    def run(self, seconds: float) -> None:
        end = self.now + seconds
        while (at := max(self.now, self.pacer.next_at)) < end:
            self.tokens = min(self.burst, self.tokens + (at - self.now) * self.rate)
            self.now = at
            if self.on_their_way and self.on_their_way[0][0] <= at:
                answered_at, sent, wait = self.on_their_way.popleft()
                self.pacer.throttled(sent, answered_at, wait)
            else:
                self._send()
        self.tokens = min(self.burst, self.tokens + (end - self.now) * self.rate)
        self.now = end

    def _send(self) -> None:
        sent = self.pacer.send(self.now)
        if self.tokens >= 1 and self.chance.random() >= self.at_random:
            self.tokens -= 1
            self.admitted += 1
        else:
            self.refused += 1
            wait = max(1.0, math.ceil((1 - self.tokens) / self.rate))
            self.on_their_way.append((self.now + self.answer_seconds, sent, min(self.longest_wait, wait)))
            if not self.answer_seconds:
                self.pacer.throttled(sent, self.now, self.on_their_way.pop()[2])


@pytest.mark.parametrize(
    ("lane", "seconds_before", "seconds", "share"),
    [
        # A memory that is wrong costs seconds and not the night.
        (Lane(Pacer(known_rate=0.8), 40.0, 40.0), 20, 20, 0.9),
        (Lane(Pacer(known_rate=20.0), 40.0, 40.0), 20, 20, 0.9),
        (Lane(Pacer(known_rate=200.0), 40.0, 40.0), 20, 20, 0.9),
        # A first burst far above the lane teaches only the bucket's size.
        (Lane(Pacer(first_rate=500.0), 40.0, 20.0), 15, 60, 0.93),
        # A 429 by chance is a hint, and no proof of an empty bucket; each asks for a pause of a second.
        (Lane(Pacer(), 40.0, 40.0, at_random=0.01, answer_seconds=0.04), 600, 600, 0.65),
        (Lane(Pacer(), 40.0, 40.0, at_random=0.05, answer_seconds=0.04), 300, 900, 0.15),
        (Lane(Pacer(), 5.0, 5.0, at_random=0.03, answer_seconds=0.04), 900, 900, 0.7),
        (Lane(Pacer(), 10.0, 10.0, at_random=0.02, answer_seconds=0.04), 900, 900, 0.7),
    ],
)
def test_a_lane_is_used_whatever_the_first_guess_and_the_429s_by_chance(
    lane: Lane, seconds_before: float, seconds: float, share: float
) -> None:
    """The comments say what each lane shows; the share is of the calls that it could let through."""
    lane.run(seconds_before)
    lane.admitted = 0

    lane.run(seconds)

    assert lane.admitted > share * lane.rate * seconds


def test_a_run_begins_with_a_known_rate() -> None:
    """It uses the lane from its first second on, and is sure of the rate after one burst of 429s."""
    lane = Lane(Pacer(known_rate=50.0), 50.0, 50.0)

    lane.run(4.0)
    first_refused = lane.refused
    lane.run(11.0)

    assert first_refused == 0
    assert lane.admitted == pytest.approx(0.95 * 50 * 15, rel=0.1)
    assert lane.refused <= 4


@pytest.mark.parametrize("stop_seconds", [10.0, 3_600.0])
def test_a_process_that_was_stopped_for_a_while_does_not_burst(stop_seconds: float) -> None:
    """It does not send at once all that it could have sent meanwhile."""
    lane = Lane(Pacer(), 20.0, 20.0)
    lane.run(200.0)
    lane.now += stop_seconds
    lane.admitted = lane.refused = 0

    lane.run(120.0)

    assert lane.admitted > 0.95 * 20 * 120
    assert lane.refused < 10


@pytest.mark.parametrize("pause_seconds", [1_536.0, 1_800.0, 1e6])
def test_a_pause_of_any_length_leaves_the_pace_a_number(pause_seconds: float) -> None:
    """A service may ask for half an hour again and again before it lets the first call through."""
    pacer, now = Pacer(), 0.0
    for _ in range(4):
        now = max(now, pacer.next_at)
        pacer.throttled(pacer.send(now), now, pause_seconds)

    assert 0.0 < pacer.pace <= 1.0 / pause_seconds * 2


def test_a_burst_of_429s_changes_the_rate_once_and_its_longest_wait_counts() -> None:
    """Calls that were in flight at the first 429 show nothing new."""
    pacer = Pacer()
    now, sent = 0.0, []
    for _ in range(20):
        now = max(now, pacer.next_at)
        sent.append(pacer.send(now))
    pacer.throttled(sent[18], 4.0, 1.0)
    learned = pacer.learned_rate

    pacer.throttled(sent[19], 4.1, 3.0)
    pacer.throttled(sent[17], 4.2, 1.0)

    assert pacer.learned_rate == learned is not None
    assert pacer.next_at == pytest.approx(7.1)


def test_a_run_that_sends_less_than_it_may_keeps_its_pace() -> None:
    """Slow uploads use less than the pace; the pace must not grow because of that."""
    pacer = Pacer()

    for second in range(600):
        pacer.send(float(second))

    assert pacer.pace == FIRST_RATE
