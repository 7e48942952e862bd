"""However files and probes of the quota interleave, a leg spends no call that the quota does not have."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest

from proofsweep.client.stop import StopSwitch
from proofsweep.domain.exchanges import Call, Exchange
from proofsweep.domain.headers import AnswerHeaders
from proofsweep.domain.runs import Bounds
from proofsweep.verify.budget_guard import BudgetGuard

UNUSED = 8
"""Two calls of a file that may not begin any more, probes, and the rounding of the learned cost of a call."""

NOW = datetime(2026, 11, 20, tzinfo=UTC)


@dataclass
class Leg:
    """A key with so many calls left, and a leg that spends them; `partner` is what of a partner it needs.

    Attributes:
        charged: calls of this leg and of other users.
        refused: calls of files for which the quota had no call left.
        uptime: monotonic seconds.
    """

    quota: int
    charged: int = 0
    refused: int = 0
    uptime: float = 0.0
    stop: StopSwitch = field(default_factory=StopSwitch)
    guard: BudgetGuard = field(init=False)
    in_flight: dict[int, list[Call]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        partner: Any = self
        self.guard = BudgetGuard(Bounds(), partner, self.stop, lambda: NOW, uptime=lambda: self.uptime)
        self.guard.take_snapshot(self.quota, None)

    def with_attempts(self, _most: int) -> "Leg":
        """Ask once."""
        return self

    def usage(self, *, days: int) -> tuple[None, AnswerHeaders]:
        """Tell what is left, this call not included."""
        assert days == 1
        self.spend(Call.USAGE, None)
        return None, AnswerHeaders(rate_remaining=self.quota - self.charged)

    def spend(self, call: Call, row: int | None) -> None:
        """Make a keyed call; it is noted at once."""
        self.charged += 1
        self.refused += row is not None and self.charged > self.quota
        made = Exchange(call=call, attempt=1, started_at=NOW, elapsed_ms=1.0, headers=AnswerHeaders(), bytes_sent=0)
        self.guard.note(made, row)

    def begin(self, row: int) -> bool:
        """Begin a file, if it may begin."""
        if self.guard.admits(row):
            self.in_flight[row] = [Call.VERIFY, Call.UPLOADS]
            return True
        return False

    def go_on(self, row: int) -> None:
        """Make a file's next call; after its last it is done."""
        calls = self.in_flight[row]
        self.spend(calls.pop(), row)
        if not calls:
            del self.in_flight[row]
            self.guard.release(row)


def test_a_probe_for_which_no_call_is_left_is_not_made() -> None:
    """All that is left belongs to files in flight, and to the probe at the end."""
    leg = Leg(quota=59)
    for row in range(20):
        assert leg.begin(row)
        leg.go_on(row)
        leg.go_on(row)
    for row in range(20, 29):
        assert leg.begin(row)
    for row in [*range(20, 29), 20]:
        leg.go_on(row)

    assert not leg.begin(29)
    assert leg.charged == 50


@pytest.mark.parametrize("burst", [0, 500, 30_000])
def test_a_burst_of_another_user_leaves_no_calls_unused(burst: int) -> None:
    """It is no cost of this leg's calls, and it is over: the headroom is asked for again before the leg gives up."""
    leg = Leg(quota=20_000 + burst)
    row = work_at_once(leg, rows=50, first=0)
    leg.charged += burst
    leg.uptime += 10.0
    leg.guard.probe()

    while leg.stop.reason is None:
        leg.uptime += 1.0
        row = work_at_once(leg, rows=64, first=row)

    assert leg.stop.reason.ended_by == "quota"
    assert leg.charged + 1 <= leg.quota
    assert leg.quota - leg.charged <= UNUSED


@pytest.mark.parametrize("each_second", [1, 20, 200])
def test_another_user_who_spends_all_the_time_is_left_room(each_second: int) -> None:
    """What others take is expected by the second, so the leg ends before the quota does."""
    leg, row = Leg(quota=20_000), 0

    while leg.stop.reason is None:
        leg.charged += each_second
        leg.uptime += 1.0
        row = work_at_once(leg, rows=5, first=row)
        if leg.uptime % 20 == 0:
            leg.guard.probe()

    assert leg.stop.reason.ended_by == "quota"
    assert leg.refused == 0
    assert leg.quota - leg.charged <= UNUSED + 2 * each_second


def test_a_headroom_that_another_user_spent_ends_the_leg() -> None:
    """The leg asks for it once more, and then believes it."""
    leg = Leg(quota=20_000)
    row = work_at_once(leg, rows=50, first=0)
    leg.charged = leg.quota - 3
    leg.guard.probe()

    assert work_at_once(leg, rows=50, first=row) == row
    assert leg.stop.reason is not None
    assert leg.charged <= leg.quota - 1


def work_at_once(leg: Leg, *, rows: int, first: int) -> int:
    """Begin so many files, as far as they may begin, and finish them; give the number of the next file."""
    begun = [row for row in range(first, first + rows) if leg.begin(row)]
    for row in begun * 2:
        leg.go_on(row)
    return first + len(begun)


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
    assert leg.charged + 1 <= leg.quota
    assert leg.quota - leg.charged <= UNUSED


def test_what_is_left_and_in_flight_is_told() -> None:
    """A person who watches the leg sees both; without a word of the service nothing is known of the quota."""
    leg = Leg(quota=100)

    assert leg.guard.admits(1)
    leg.spend(Call.UPLOADS, 1)

    assert (leg.guard.left, leg.guard.in_flight) == (99, 1)
    leg.guard.release(1)
    assert leg.guard.in_flight == 0
    assert BudgetGuard(Bounds(), leg, leg.stop, lambda: NOW).left is None  # type: ignore[arg-type]
