"""The pacer learns a lane from counts and 429s alone; the test sets the time."""

import math
from collections import deque
from dataclasses import dataclass, field
from random import Random

import pytest

from proofsweep.client.lane_model import Sent
from proofsweep.client.pacer import FIRST_RATE, Pacer


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
        """Send for so long."""
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


@pytest.mark.parametrize(("rate", "burst"), [(2.0, 2.0), (20.0, 10.0), (20.0, 40.0), (300.0, 100.0)])
def test_any_lane_is_learned_and_used_with_few_429s(rate: float, burst: float) -> None:
    """Two figures count together: the used share of what is possible, and the share of 429s."""
    lane = Lane(Pacer(), rate, burst)
    lane.run(120.0)
    lane.admitted = lane.refused = 0

    lane.run(600.0)

    assert lane.admitted / (rate * 600) > 0.97
    assert lane.refused / lane.admitted < 0.01
    assert lane.pacer.learned_rate == pytest.approx(rate, rel=0.03)


def test_nothing_is_learned_until_a_429() -> None:
    """A search doubles its pace, and knows nothing until a call is refused."""
    lane = Lane(Pacer(), 1e6, 1e6)

    lane.run(3.0)

    assert lane.pacer.learned_rate is None
    assert lane.pacer.pace == pytest.approx(4 * FIRST_RATE, rel=0.1)


def test_a_run_begins_with_a_known_rate() -> None:
    """It uses the lane from its first second on, and is sure of the rate after one burst of 429s."""
    lane = Lane(Pacer(known_rate=50.0), 50.0, 50.0)

    lane.run(4.0)
    first_refused = lane.refused
    lane.run(11.0)

    assert first_refused == 0
    assert lane.admitted == pytest.approx(0.95 * 50 * 15, rel=0.1)
    assert lane.refused <= 4


@pytest.mark.parametrize("known_rate", [0.8, 20.0, 200.0])
def test_a_known_rate_is_a_first_guess(known_rate: float) -> None:
    """A memory that is wrong costs seconds and not the night."""
    lane = Lane(Pacer(known_rate=known_rate), 40.0, 40.0)
    lane.run(20.0)
    lane.admitted = 0

    lane.run(20.0)

    assert lane.admitted > 0.9 * 40 * 20


def test_refusals_at_random_do_not_lower_the_rate() -> None:
    """A 429 that was not due is a hint, and no proof of an empty bucket."""
    lane = Lane(Pacer(), 40.0, 40.0, at_random=0.01, answer_seconds=0.04)
    lane.run(600.0)
    lane.admitted = 0

    lane.run(600.0)

    assert lane.admitted > 0.65 * 40 * 600


@pytest.mark.parametrize("seed", range(3))
def test_many_refusals_at_random_leave_a_part_of_the_lane(seed: int) -> None:
    """Each of them asks for a pause of a second, so half of the lane would be the most possible."""
    lane = Lane(Pacer(), 40.0, 40.0, at_random=0.05, answer_seconds=0.04, chance=Random(seed))  # noqa: S311 - draws, guards nothing
    lane.run(300.0)
    lane.admitted = 0

    lane.run(900.0)

    assert lane.admitted > 0.15 * 40 * 900


@pytest.mark.parametrize("at_random", [0.02, 0.03])
@pytest.mark.parametrize("rate", [5.0, 10.0])
def test_slow_lanes_with_refusals_by_chance_are_used(rate: float, at_random: float) -> None:
    """Such 429s neither prove a lower rate one after another, nor are they of other users."""
    lane = Lane(Pacer(), rate, rate, at_random=at_random, answer_seconds=0.04)
    lane.run(900.0)
    lane.admitted = lane.refused = 0

    lane.run(900.0)

    assert lane.admitted > 0.7 * rate * 900
    assert lane.refused < 0.06 * lane.admitted


def test_a_pause_is_no_time_at_which_the_pace_was_tried() -> None:
    """Else the first call after the first pause would end the search, and teach a rate of one call a second."""
    pacer = Pacer()
    sent = pacer.send(0.0)
    pacer.throttled(sent, 0.1, 1.0)
    pacer.send(1.1)
    sent = pacer.send(1.3)
    pacer.throttled(sent, 1.4, 1.0)

    assert pacer.learned_rate is None


def test_a_search_whose_first_call_is_refused_begins_again_slowly() -> None:
    """Else a search at 500 calls per second would send a second burst after the first pause."""
    pacer = Pacer(first_rate=500.0)
    sent = [pacer.send(0.002 * number) for number in range(7)]
    pacer.throttled(sent[0], 0.04, 1.0)

    assert pacer.pace <= 1.0


def test_another_limit_than_the_rate_was_the_cause_of_all_429s() -> None:
    """What was learned from them is forgotten."""
    pacer, now = Pacer(), 0.0
    for _ in range(30):
        now = max(now, pacer.next_at)
        sent = pacer.send(now)
        pacer.throttled(sent, now, 1.0)
    now = pacer.next_at
    sent = pacer.send(now)
    pacer.search_again(sent, now)

    assert pacer.learned_rate is None
    assert not pacer._contention.is_shared


def test_a_first_burst_far_above_the_lane_teaches_only_its_size() -> None:
    """Where a search begins at 500 calls per second, all of the first ones arrive together."""
    lane = Lane(Pacer(first_rate=500.0), 40.0, 20.0)
    lane.run(15.0)
    lane.admitted = 0

    lane.run(60.0)

    assert lane.admitted > 0.93 * 40 * 60


def test_a_narrower_lane_is_found_within_a_few_429s() -> None:
    """The calls between two 429s show the new rate."""
    lane = Lane(Pacer(), 200.0, 100.0)
    lane.run(200.0)
    lane.rate, lane.refused = 20.0, 0

    lane.run(30.0)

    assert lane.refused <= 8
    assert lane.pacer.learned_rate == pytest.approx(20.0, rel=0.1)


def test_a_lane_that_widens_again_is_used_again() -> None:
    """While it is narrower than before, the quiet times are shorter."""
    lane = Lane(Pacer(), 200.0, 100.0)
    for rate, seconds in ((200.0, 200.0), (50.0, 200.0), (200.0, 40.0)):
        lane.rate = rate
        lane.run(seconds)

    assert lane.pacer.pace > 180.0


def test_a_lane_that_is_shut_for_a_while_is_not_narrow() -> None:
    """Nothing goes through, so nothing can be counted: the rate stays known, and few calls are sent."""
    lane = Lane(Pacer(), 20.0, 20.0, longest_wait=1.0)
    lane.run(200.0)
    lane.rate, lane.tokens, lane.refused = 1e-9, 0.0, 0
    lane.run(60.0)
    refused, lane.rate, lane.admitted = lane.refused, 20.0, 0

    lane.run(30.0)

    assert refused < 70
    assert lane.admitted > 0.8 * 20 * 30


def test_one_unlucky_call_does_not_undo_what_was_learned() -> None:
    """A cycle of one or two calls shows little; it halves the rate at most."""
    lane = Lane(Pacer(), 20.0, 20.0)
    lane.run(400.0)
    sent = lane.pacer.send(max(lane.now, lane.pacer.next_at))
    lane.pacer.throttled(sent, sent.at, 1.0)
    before = lane.pacer.bucket.rate
    lane.pacer.send(lane.pacer.next_at)
    sent = lane.pacer.send(lane.pacer.next_at)
    lane.pacer.throttled(sent, sent.at, 1.0)

    assert lane.pacer.bucket.rate >= before / 2 > 5.0


def test_a_lane_that_widens_little_by_little_is_followed() -> None:
    """The surplus is a higher rate, and not a larger bucket."""
    lane = Lane(Pacer(), 10.0, 20.0)
    lane.run(120.0)
    for _ in range(10):
        lane.rate += 0.5
        lane.run(60.0)

    assert lane.pacer.learned_rate == pytest.approx(lane.rate, rel=0.12)


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


def test_a_machine_that_stalls_often_does_not_take_its_lane_for_a_wider_one() -> None:
    """While it stands still the bucket fills, so a 429 that does not come shows nothing."""
    lane = Lane(Pacer(), 20.0, 20.0)
    lane.run(200.0)
    lane.refused = lane.admitted = 0
    for _ in range(200):
        lane.run(4.0)
        lane.tokens, lane.now = min(lane.burst, lane.tokens + 1.5 * lane.rate), lane.now + 1.5

    assert lane.admitted > 0.75 * 20 * 1100
    assert lane.refused < 0.0005 * lane.admitted


@pytest.mark.parametrize("pause_seconds", [1_536.0, 1_800.0, 1e6])
def test_a_pause_of_any_length_leaves_the_pace_a_number(pause_seconds: float) -> None:
    """A service may ask for half an hour again and again before it lets the first call through."""
    pacer, now = Pacer(), 0.0
    for _ in range(4):
        now = max(now, pacer.next_at)
        pacer.throttled(pacer.send(now), now, pause_seconds)

    assert 0.0 < pacer.pace <= 1.0 / pause_seconds * 2


def test_hours_without_work_leave_the_rate_known() -> None:
    """An hour without a call does not mean a narrow lane."""
    lane = Lane(Pacer(), 20.0, 20.0)
    for _ in range(6):
        lane.run(100.0)
        lane.tokens, lane.now = lane.burst, lane.now + 3_600.0

    assert lane.pacer.learned_rate == pytest.approx(20.0, rel=0.05)


def test_a_burst_of_429s_changes_the_rate_once_and_its_longest_wait_counts() -> None:
    """Calls that were in flight at the first 429 show nothing new."""
    pacer = Pacer()
    now, sent = 0.0, []
    for _ in range(20):
        now = max(now, pacer.next_at)
        sent.append(pacer.send(now))
    pacer.throttled(sent[18], 4.0, 1.0)
    learned, change = pacer.learned_rate, pacer.rate_change

    pacer.throttled(sent[19], 4.1, 3.0)
    pacer.throttled(sent[17], 4.2, 1.0)

    assert (pacer.learned_rate, pacer.rate_change) == (learned, change) != (None, None)
    assert pacer.next_at == pytest.approx(7.1)


def test_a_run_that_sends_less_than_it_may_keeps_its_pace() -> None:
    """Slow uploads use less than the pace; the pace must not grow because of that."""
    pacer = Pacer()

    for second in range(600):
        pacer.send(float(second))

    assert pacer.pace == FIRST_RATE
