"""However files and probes of the quota interleave, a leg spends no call that the quota does not have."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest

from proofsweep.client.stop import StopSwitch
from proofsweep.contract.headers import AnswerHeaders
from proofsweep.domain.budget.bounds import Bounds
from proofsweep.domain.exchanges import Call, Exchange
from proofsweep.usecases.leg.budget_guard import BudgetGuard

UNUSED = 8
"""Two calls of a file that may not begin any more, probes, and the rounding of the learned cost of a call."""

NOW = datetime(2026, 11, 20, tzinfo=UTC)


@dataclass
class Leg:
    """A key with so many calls left, and a leg that spends them; `partner` is what of a partner it needs."""

    quota: int
    charged: int = 0
    stop: StopSwitch = field(default_factory=StopSwitch)
    guard: BudgetGuard = field(init=False)
    in_flight: dict[int, list[Call]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        partner: Any = self
        self.guard = BudgetGuard(Bounds(), partner, self.stop, lambda: NOW)
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


@pytest.mark.parametrize("seed", range(300))
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
