"""The lane that calls show is the one that refused them."""

import math
from collections.abc import Hashable
from random import Random

import pytest

from proofsweep.model.exchanges import Call
from proofsweep.partner.pacing.call_queue import CallQueue
from proofsweep.partner.pacing.concurrency_limit import ConcurrencyLimit
from proofsweep.partner.pacing.pacer import Pacer
from proofsweep.verify.rehearsal.event_queue import EventQueue
from proofsweep.verify.rehearsal.gateway import Gateway
from proofsweep.verify.rehearsal.observe_lane import observed_lane
from proofsweep.verify.rehearsal.paced_client import PacedClient
from proofsweep.verify.rehearsal.seen_call import SeenCall
from proofsweep.verify.rehearsal.simulated_partner import Answered, SimulatedPartner

from .conditions import FixedConditions


class SeenPartner(SimulatedPartner):
    """Keeps each call as a leg's exchanges do."""

    def call(self, item: Hashable, *, is_verify: bool, answered: Answered) -> None:
        """Send a call."""
        began = self.events.now

        def seen(status: int, retry_after: float | None) -> None:
            calls.append(
                SeenCall(
                    call=Call.VERIFY if is_verify else Call.UPLOADS,
                    began=began,
                    seconds=self.events.now - began,
                    status=status,
                    retry_after_seconds=retry_after,
                )
            )
            answered(status, retry_after)

        SimulatedPartner.call(self, item, is_verify=is_verify, answered=seen)


calls: list[SeenCall] = []


def leg(gateway: Gateway, rows: int, work: float = 0.05) -> tuple[list[SeenCall], float | None]:
    """Let a leg that does not know the lane work through some rows; return its calls and the rate that it learned."""
    calls.clear()
    events, chance = EventQueue(), Random(1)  # noqa: S311 - plays a service
    conditions = FixedConditions(events, trip=0.005, work=work, uploading=0.02)
    partner = SeenPartner(events=events, gateway=gateway, conditions=conditions, chance=chance)
    queue = CallQueue(Pacer(), ConcurrencyLimit())
    client = PacedClient(events=events, partner=partner, chance=chance, items=iter(range(rows)), queue=queue)
    events.at(0.0, client.work)
    events.run_all()
    return sorted(calls, key=lambda call: call.began), queue.pacer.learned_rate


@pytest.mark.parametrize(
    ("rate", "burst", "rows"),
    [(20, 20, 100), (20, 20, 200), (20, 5, 200), (60, 15, 600), (8, 60, 180), (100, 50, 1_000)],
)
def test_a_leg_of_some_seconds_shows_the_bucket(rate: float, burst: float, rows: int) -> None:
    """The rate within some hundredths, and the burst about; the shortest leg meets two 429s only."""
    seen, learned = leg(Gateway(rate=rate, burst=burst), rows)

    lane = observed_lane(seen, learned)

    assert lane.rate == pytest.approx(rate, rel=0.06)
    assert lane.burst == pytest.approx(burst, rel=0.4)
    assert (lane.most_at_once, lane.least_wait_seconds) == (None, 1.0)


def test_a_lane_that_refused_nothing_is_not_known() -> None:
    """A rate that is remembered from another leg changes nothing here."""
    lane = observed_lane(leg(Gateway(rate=math.inf, burst=math.inf), 200)[0], 80.0)

    assert not lane.is_reached
    assert lane.fastest > 20


def test_a_limit_of_concurrent_calls_is_found_as_the_pacer_finds_it() -> None:
    """And no rate is made of its 429s."""
    lane = observed_lane(leg(Gateway(rate=1e9, burst=1e9, concurrency=8), 1_500, work=0.4)[0], 15.0)

    assert (lane.rate, lane.most_at_once) == (None, 8)


def test_a_few_429s_at_one_number_of_calls_in_flight_show_a_limit_too() -> None:
    """Each tenth call at once is refused, three times; once at the eighth it may have been a rate."""

    def burst(began: float, refused: int) -> list[SeenCall]:
        let_in = [
            SeenCall(call=Call.VERIFY, began=began + n / 100, seconds=1.0, status=200) for n in range(refused - 1)
        ]
        return [*let_in, SeenCall(call=Call.VERIFY, began=began + 0.5, seconds=0.01, status=429)]

    alike = [*burst(0, 10), *burst(10, 10), *burst(20, 10)]

    assert observed_lane(alike, 5.0).most_at_once == 9
    assert observed_lane([*alike, *burst(30, 8)], 5.0).most_at_once is None


def test_no_calls_show_no_lane() -> None:
    """Nothing was sent."""
    assert not observed_lane([], None).is_reached
