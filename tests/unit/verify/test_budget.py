"""An item begins only if its calls are covered: by the leg's own limit and by the partner's headroom."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest

from proofsweep.client.stop import StopSwitch
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.exchanges import Call, Exchange
from proofsweep.domain.headers import AnswerHeaders
from proofsweep.domain.runs import Bounds
from proofsweep.verify.budget import Budget, BudgetGuard, calls_of

NOW = datetime(2026, 11, 20, tzinfo=UTC)
UNUSED = 8
"""Two calls of a file that may not begin any more, probes, and the rounding of the learned cost of a call."""


def exchange(call: Call, *, was_sent: bool = True) -> Exchange:
    sent = 0 if was_sent else None
    return Exchange(call=call, attempt=1, started_at=NOW, elapsed_ms=1.0, headers=AnswerHeaders(), bytes_sent=sent)


def budget_of(headroom: int | None, **bounds: int) -> Budget:
    budget = Budget(Bounds(**bounds))
    budget.take_snapshot(headroom, None, 0, now=0.0)
    return budget


def spend(budget: Budget, calls: int) -> None:
    for _ in range(calls):
        budget.note(exchange(Call.UPLOADS), None)


def verify_all(budget: Budget, rows: int, *, at_once: int) -> int:
    """Work through rows as a pool of workers does, and give how many began."""
    begun = 0
    while begun < rows and budget.shortage() is None:
        batch = []
        while begun < rows and len(batch) < at_once and budget.shortage() is None:
            budget.begin(begun)
            batch.append(begun)
            begun += 1
        for call in (Call.UPLOADS, Call.SLOT, Call.VERIFY):
            for row in batch:
                budget.note(exchange(call), row)
        for row in batch:
            budget.end(row)
    return begun


@pytest.mark.parametrize("at_once", [1, 3, 16])
@pytest.mark.parametrize(("max_calls", "items"), [(2, 0), (3, 1), (4, 1), (5, 2), (21, 10), (100, 49)])
def test_a_limit_of_calls_is_kept_exactly(max_calls: int, items: int, at_once: int) -> None:
    """Two for each item, in flight or done, and one for the last probe of the headroom."""
    budget = Budget(Bounds(max_calls=max_calls))

    assert verify_all(budget, 1_000, at_once=at_once) == items
    assert budget.spent + 1 <= max_calls
    assert budget.shortage() is EndedBy.WINDOW


@pytest.mark.parametrize("at_once", [1, 16])
@pytest.mark.parametrize(("headroom", "reserve", "items"), [(0, 0, 0), (30, 0, 14), (31, 0, 15), (100, 69, 15)])
def test_a_headroom_is_used_up_to_the_reserve(headroom: int, reserve: int, items: int, at_once: int) -> None:
    """The leg ends before the partner must refuse a call."""
    budget = budget_of(headroom, reserve=reserve)

    assert verify_all(budget, 1_000, at_once=at_once) == items
    assert budget.shortage() is EndedBy.QUOTA


def test_without_bounds_and_without_a_snapshot_everything_may_begin() -> None:
    """A service that does not tell its quota can still be used."""
    budget = budget_of(None, reserve=50)

    assert verify_all(budget, 500, at_once=16) == 500
    assert budget.left is None


def test_a_snapshot_holds_its_own_probe_and_no_call_that_was_made_meanwhile() -> None:
    """It may be older than those calls are, but not newer than its request."""
    budget = budget_of(1_000)
    spend(budget, 10)
    spent_before = budget.spent
    spend(budget, 5)
    budget.take_snapshot(990, None, spent_before)
    left = budget.left

    budget.note(exchange(Call.USAGE), None)

    assert (left, budget.left, budget.spent) == (985, 985, 16)


@pytest.mark.parametrize(
    ("fell_by", "left_after_100_more"),
    [(100, 800), (150, 700), (300, 500), (900, 0), (50, 900), (10, 940), (0, 900), (-5_000, 5_900)],
)
def test_what_a_call_costs_is_learned_from_the_headroom(fell_by: int, left_after_100_more: int) -> None:
    """From a half to two: what is more was spent by others. A headroom that did not fall shows nothing."""
    budget = budget_of(1_000)
    spend(budget, 100)
    budget.take_snapshot(1_000 - fell_by, None, 100)
    spend(budget, 100)

    assert budget.left == left_after_100_more


def test_other_users_of_the_key_bring_the_end_forward() -> None:
    """What they took between two snapshots, they are expected to take again, by the second and not by our calls."""
    budget = budget_of(10_000)
    spend(budget, 100)
    budget.take_snapshot(8_800, None, 100, now=100.0)

    assert budget.shortage(now=100.0 + 879) is None
    assert budget.shortage(now=100.0 + 881) is EndedBy.QUOTA


@pytest.mark.parametrize(("max_calls", "may_begin"), [(3, False), (4, True)])
def test_a_proof_begins_only_with_a_call_more_than_a_file(max_calls: int, may_begin: bool) -> None:
    """Its asset's URL costs one; the last probe of the headroom is the fourth."""
    budget = Budget(Bounds(max_calls=max_calls))

    assert budget.shortage(calls=calls_of("/music/proof.wav")) is None
    assert (budget.shortage(calls=calls_of("proof:p")) is None) is may_begin


def test_a_retry_is_spent_and_the_item_is_still_owed_its_verify() -> None:
    """Only retries can exceed the limit of calls."""
    budget = Budget(Bounds(max_calls=5))
    budget.begin(0)
    for _ in range(3):
        budget.note(exchange(Call.UPLOADS), 0)

    assert (budget.spent, budget.shortage()) == (3, EndedBy.WINDOW)


@pytest.mark.parametrize("free", [exchange(Call.HEALTH), exchange(Call.SLOT), exchange(Call.VERIFY, was_sent=False)])
def test_a_call_without_key_or_never_sent_costs_nothing(free: Exchange) -> None:
    """The quota counts keyed operations (contract, Limits)."""
    budget = Budget()
    budget.note(free, None)

    assert budget.spent == 0


@dataclass
class Leg:
    """A key with so many calls left, and a leg that spends them; it is what of a partner the guard needs."""

    quota: int
    charged: int = 0  # calls of this leg and of other users
    refused: int = 0  # calls of files for which the quota had no call left
    uptime: float = 0.0
    stop: StopSwitch = field(default_factory=StopSwitch)
    guard: BudgetGuard = field(init=False)
    in_flight: dict[int, list[Call]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        partner: Any = self
        self.guard = BudgetGuard(Bounds(), partner, self.stop, lambda: NOW, uptime=lambda: self.uptime)
        self.guard.take_snapshot(self.quota, None)

    def with_attempts(self, _most: int) -> "Leg":
        return self

    def usage(self, *, days: int) -> tuple[None, AnswerHeaders]:
        assert days == 1
        self.spend(Call.USAGE, None)
        return None, AnswerHeaders(rate_remaining=self.quota - self.charged)

    def spend(self, call: Call, row: int | None) -> None:
        self.charged += 1
        self.refused += row is not None and self.charged > self.quota
        self.guard.note(exchange(call), row)

    def begin(self, row: int) -> bool:
        if self.guard.admits(row):
            self.in_flight[row] = [Call.VERIFY, Call.UPLOADS]
            return True
        return False

    def go_on(self, row: int) -> None:
        calls = self.in_flight[row]
        self.spend(calls.pop(), row)
        if not calls:
            del self.in_flight[row]
            self.guard.release(row)

    def work_at_once(self, *, rows: int, first: int) -> int:
        """Begin so many files, as far as they may begin, and finish them; give the number of the next file."""
        begun = [row for row in range(first, first + rows) if self.begin(row)]
        for row in begun * 2:
            self.go_on(row)
        return first + len(begun)


@pytest.mark.parametrize("burst", [0, 500, 30_000])
def test_a_burst_of_another_user_leaves_no_calls_unused(burst: int) -> None:
    """It is no cost of this leg's calls, and it is over: the headroom is asked for again before the leg gives up."""
    leg = Leg(quota=20_000 + burst)
    row = leg.work_at_once(rows=50, first=0)
    leg.charged += burst
    leg.uptime += 10.0
    leg.guard.probe()

    while leg.stop.reason is None:
        leg.uptime += 1.0
        row = leg.work_at_once(rows=64, first=row)

    assert leg.stop.reason.ended_by == "quota"
    assert 1 <= leg.quota - leg.charged <= UNUSED


@pytest.mark.parametrize("each_second", [1, 20, 200])
def test_another_user_who_spends_all_the_time_is_left_room(each_second: int) -> None:
    """What others take is expected by the second, so the leg ends before the quota does."""
    leg, row = Leg(quota=20_000), 0

    while leg.stop.reason is None:
        leg.charged += each_second
        leg.uptime += 1.0
        row = leg.work_at_once(rows=5, first=row)
        if leg.uptime % 20 == 0:
            leg.guard.probe()

    assert leg.stop.reason.ended_by == "quota"
    assert leg.refused == 0
    assert leg.quota - leg.charged <= UNUSED + 2 * each_second


@pytest.mark.parametrize("seed", range(100))
def test_the_quota_is_never_overdrawn(seed: int) -> None:
    """Whatever the order, the probe at the end still has its call, and nearly as many files are done as could be."""
    chance = Random(seed)  # noqa: S311 - for orders, not for secrets
    leg = Leg(quota=chance.choice([chance.randrange(1, 400), chance.randrange(50, 70)]))
    at_once, begins, row = chance.choice([1, 4, 16, 64]), chance.choice([0.2, 0.5, 0.8]), 0

    while leg.stop.reason is None:
        if len(leg.in_flight) < at_once and chance.random() < begins:
            row += leg.begin(row)
        elif leg.in_flight:
            leg.go_on(chance.choice(list(leg.in_flight)))
        if chance.random() < 0.01:
            leg.guard.probe()

    assert leg.stop.reason.ended_by == "quota"
    assert 1 <= leg.quota - leg.charged <= UNUSED


def test_of_a_quota_that_legs_share_each_takes_its_part() -> None:
    """What the others leave over is shared again after the next probe."""
    budget = budget_of(30, reserve=10, sharers=2)

    assert budget.shortage() is None
    spend(budget, 8)
    assert budget.shortage() is EndedBy.QUOTA
    assert budget.can_probe
