"""An item begins only if its calls are covered: by the leg's own limit and by the partner's headroom."""

from dataclasses import dataclass, field
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from proofsweep.config.threads import StopSwitch
from proofsweep.domain.errors import CallFailed
from proofsweep.domain.exchanges import AnswerHeaders, Call, Exchange
from proofsweep.domain.runs import Bounds
from proofsweep.verify.budget import Budget, calls_of

from ..left_behind import exchange
from ..scripted_service import NOW

UNUSED = 6
"""Two calls of a file that may not begin any more, and readings of the quota."""


@dataclass
class Leg:
    """A key with so many calls left, and a leg that spends them; it is what of a partner a budget needs."""

    quota: int | None = None
    bounds: Bounds = field(default_factory=Bounds)
    charged: int = 0  # calls of this leg and of other users
    stop: StopSwitch = field(default_factory=StopSwitch)
    budget: Budget = field(init=False)
    in_flight: dict[int, list[Call]] = field(default_factory=dict)
    failures: int = 0  # readings of the quota that fail first

    def __post_init__(self) -> None:
        partner: Any = self
        self.budget = Budget(self.bounds, partner, self.stop, lambda: NOW)
        self.budget.take_reading(self.quota, None)

    @property
    def ended_by(self) -> str | None:
        return None if self.stop.reason is None else self.stop.reason.ended_by

    def usage(self, *, days: int) -> tuple[None, AnswerHeaders]:
        assert days == 1
        self.spend(Call.USAGE, None)
        if self.failures:
            self.failures -= 1
            raise CallFailed("No answer.", stage="usage", reason="timeout")
        return None, AnswerHeaders(rate_remaining=None if self.quota is None else self.quota - self.charged)

    def spend(self, call: Call, row: int | None) -> None:
        self.charged += 1
        self.budget.note(exchange(call), row)

    def begin(self, row: int) -> bool:
        if self.budget.admits(row):
            self.in_flight[row] = [Call.VERIFY, Call.UPLOADS]
            return True
        return False

    def go_on(self, row: int) -> None:
        calls = self.in_flight[row]
        self.spend(calls.pop(), row)
        if not calls:
            del self.in_flight[row]
            self.budget.release(row)

    def verify_all(self, *, at_once: int, most: int = 1_000) -> int:
        """Begin so many files, as far as they may begin, and finish them, until the leg stops; give how many it did."""
        done = 0
        while self.stop.reason is None and done < most:
            begun = [row for row in range(done, done + at_once) if self.begin(row)]
            for row in begun * 2:
                self.go_on(row)
            done += len(begun)
        return done


@pytest.mark.parametrize("at_once", [1, 3, 16])
@pytest.mark.parametrize(("calls", "items"), [(2, 0), (3, 1), (4, 1), (5, 2), (30, 14), (31, 15), (100, 49)])
def test_a_limit_is_kept_exactly_and_a_headroom_used_up_to_the_reserve(calls: int, items: int, at_once: int) -> None:
    """Two calls for each item, in flight or done, and one for the last probe of the headroom.

    The leg ends before the partner must refuse a call; the quota is read before it gives up, if a call is left.
    """
    limited, unreserved = Leg(bounds=Bounds(max_calls=calls)), Leg(calls)
    reserved = Leg(calls + 69, Bounds(reserve=69))

    for leg, ended_by in ((limited, "window"), (unreserved, "quota"), (reserved, "quota")):
        assert leg.verify_all(at_once=at_once) == items
        assert 1 <= calls - leg.charged <= 2
        assert leg.ended_by == ended_by


def test_without_bounds_and_without_a_quota_everything_may_begin() -> None:
    """A service that does not tell its quota can still be used; it is not asked again."""
    leg = Leg(bounds=Bounds(reserve=50))

    assert leg.verify_all(at_once=16, most=500) >= 500
    assert leg.budget.left is None
    assert leg.stop.reason is None


@pytest.mark.parametrize(
    ("reserve", "quota", "waits"),
    [(50, None, [10.0, 10.0, 300.0, 300.0]), (50, 900, [300.0] * 4), (0, None, [300.0] * 4)],
)
def test_a_reserve_is_soon_known_to_be_kept(reserve: int, quota: int | None, waits: list[float]) -> None:
    """A quota that could not be read is read again within seconds, until it is answered."""
    leg, waited = Leg(quota, Bounds(reserve=reserve)), list[float]()
    leg.budget.probe_seconds, leg.failures = 300.0, 1
    over: Any = SimpleNamespace(wait=lambda seconds: waited.append(seconds) or len(waited) == 4)

    leg.budget.keep_probing(over)

    assert waited == waits


def test_a_reading_holds_its_own_call_and_none_that_was_made_meanwhile() -> None:
    """It may be older than those calls are, but not newer than its request."""
    leg = Leg(1_000)
    for _ in range(15):
        leg.spend(Call.UPLOADS, None)
    leg.budget.take_reading(990, None, spent=10)
    left = leg.budget.left

    leg.budget.note(exchange(Call.USAGE), None)

    assert (left, leg.budget.left) == (985, 985)


@pytest.mark.parametrize(("max_calls", "may_begin"), [(3, False), (4, True)])
def test_a_proof_begins_only_with_a_call_more_than_a_file(max_calls: int, may_begin: bool) -> None:
    """Its asset's URL costs one; the last probe of the headroom is the fourth."""
    assert Leg(bounds=Bounds(max_calls=max_calls)).budget.admits(0, calls_of("/music/proof.wav"))
    assert Leg(bounds=Bounds(max_calls=max_calls)).budget.admits(0, calls_of("proof:p")) is may_begin


def test_a_retry_is_spent_and_the_item_is_still_owed_its_verify() -> None:
    """Only retries can exceed the limit of calls."""
    leg = Leg(bounds=Bounds(max_calls=6))
    assert leg.budget.admits(0)

    for _ in range(3):
        leg.spend(Call.UPLOADS, 0)

    assert not leg.budget.admits(1)
    assert leg.stop.reason is None  # the item in flight is finished first
    leg.budget.release(0)
    assert leg.stop.reason is not None


@pytest.mark.parametrize("free", [exchange(Call.HEALTH), exchange(Call.SLOT), exchange(Call.VERIFY, bytes_sent=None)])
def test_a_call_without_key_or_never_sent_costs_nothing(free: Exchange) -> None:
    """The quota counts keyed operations (contract, Limits)."""
    leg = Leg(10)
    leg.budget.note(free, None)

    assert leg.budget.left == 10


@pytest.mark.parametrize("seed", range(100))
def test_the_quota_is_never_overdrawn(seed: int) -> None:
    """Whatever the order, the probe at the end still has its call, and nearly as many files are done as could be."""
    chance = Random(seed)  # noqa: S311 - for orders, not for secrets
    quota = chance.choice([chance.randrange(1, 400), chance.randrange(50, 70)])
    leg = Leg(quota)
    at_once, begins, row = chance.choice([1, 4, 16, 64]), chance.choice([0.2, 0.5, 0.8]), 0

    while leg.stop.reason is None:
        if len(leg.in_flight) < at_once and chance.random() < begins:
            row += leg.begin(row)
        elif leg.in_flight:
            leg.go_on(chance.choice(list(leg.in_flight)))
        if chance.random() < 0.01:
            leg.budget.probe()

    assert leg.stop.reason.ended_by == "quota"
    assert 1 <= quota - leg.charged <= UNUSED


def test_of_a_quota_that_legs_share_each_takes_its_part() -> None:
    """What the others leave over is shared again when the quota is read."""
    leg = Leg(30, Bounds(reserve=10, sharers=2))
    for _ in range(8):
        leg.spend(Call.UPLOADS, None)
    leg.quota = 60  # as if it had been reset

    assert leg.begin(0)
    assert leg.charged == 9
