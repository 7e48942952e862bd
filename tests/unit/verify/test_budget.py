"""An item begins only if its calls are covered: by the leg's own limit and by the partner's headroom."""

from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from proofsweep.config.threads import StopSwitch
from proofsweep.domain.errors import CallFailed, RunMustStop
from proofsweep.domain.exchanges import AnswerHeaders, Call, Exchange
from proofsweep.domain.runs import Bounds
from proofsweep.verify.budget import CALLS_OF_A_FILE, CALLS_OF_A_PROOF, CHECK_ROW, Budget

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
    calls_meanwhile: int = 0  # after a reading, and before its answer

    def __post_init__(self) -> None:
        partner: Any = self
        self.budget = Budget(self.bounds, partner, self.stop, lambda: NOW)
        self.budget.record_reading(self.quota, None)

    def within(self, claim: Callable[[Call], None]) -> "Leg":
        assert claim is not None
        return self

    @property
    def ended_by(self) -> str | None:
        return None if self.stop.reason is None else self.stop.reason.ended_by

    def usage(self, *, days: int) -> tuple[None, AnswerHeaders]:
        assert days == 1
        self.spend(Call.USAGE, None)
        if self.failures:
            self.failures -= 1
            raise CallFailed("No answer.", stage="usage", reason="timeout")
        left = None if self.quota is None else self.quota - self.charged
        for _ in range(self.calls_meanwhile):
            self.spend(Call.UPLOADS, None)
        return None, AnswerHeaders(rate_remaining=left)

    def spend(self, call: Call, row: int | None) -> None:
        self.budget.claim(row, call)
        self.charged += 1
        self.budget.record(exchange(call), row)

    def begin(self, row: int) -> bool:
        if not self.budget.may_begin(row):
            return False
        try:
            self.budget.admit(row)
        except RunMustStop:
            self.budget.release(row)
            return False
        self.in_flight[row] = [Call.VERIFY, Call.UPLOADS]
        return True

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
    leg.quota = 1_000 - 4  # others have spent four
    leg.calls_meanwhile = 1
    assert leg.budget.probe()

    assert leg.charged == 17
    assert leg.budget.left == 1_000 - 4 - 17


def test_the_headroom_of_another_key_is_asked_for_before_the_next_item() -> None:
    """The old key's thousands would let the leg use the new key's reserve up."""
    leg = Leg(100_000, Bounds(reserve=50))
    assert leg.begin(0)

    leg.quota, leg.charged = 60, 0
    leg.budget.forget_reading()
    assert leg.budget.left is None
    begun = sum(leg.begin(row) for row in range(1, 60))

    assert leg.quota - leg.charged >= 50
    assert begun == 3


@pytest.mark.parametrize(("max_calls", "may_begin"), [(3, False), (4, True)])
def test_a_proof_begins_only_with_a_call_more_than_a_file(max_calls: int, may_begin: bool) -> None:
    """Its asset's URL costs one; the last probe of the headroom is the fourth."""
    Leg(bounds=Bounds(max_calls=max_calls)).budget.admit(0, CALLS_OF_A_FILE)
    with nullcontext() if may_begin else pytest.raises(RunMustStop):
        Leg(bounds=Bounds(max_calls=max_calls)).budget.admit(0, CALLS_OF_A_PROOF)


def test_a_call_is_repeated_only_while_one_is_left_for_that_and_the_item_is_still_owed_its_verify() -> None:
    """The limit holds whatever fails; the last call is for the reading at the end."""
    leg = Leg(bounds=Bounds(max_calls=5))
    assert leg.begin(0)
    for _ in range(3):
        leg.spend(Call.UPLOADS, 0)

    with pytest.raises(RunMustStop):
        leg.spend(Call.UPLOADS, 0)
    assert not leg.begin(1)
    assert leg.stop.reason is None  # the item in flight is finished first
    leg.spend(Call.VERIFY, 0)
    leg.budget.release(0)
    assert leg.ended_by == "window"
    leg.budget.claim_last(Call.USAGE)
    assert leg.budget.spent == 5
    with pytest.raises(RunMustStop):
        leg.budget.claim_last(Call.USAGE)


def test_a_fresh_slot_is_asked_for_only_if_the_call_after_it_is_left_too() -> None:
    """A slot alone is paid for nothing."""
    leg = Leg(bounds=Bounds(max_calls=4))
    assert leg.begin(0)
    leg.spend(Call.UPLOADS, 0)
    leg.spend(Call.VERIFY, 0)

    with pytest.raises(RunMustStop):
        leg.spend(Call.UPLOADS, 0)
    assert leg.charged == 2


def test_an_item_that_is_not_admitted_yet_holds_no_calls_and_keeps_the_leg_from_its_end() -> None:
    """Such as a copy, which waits for its original and may need none."""
    leg = Leg(bounds=Bounds(max_calls=3))
    assert all(map(leg.budget.may_begin, range(50)))
    leg.budget.admit(0)
    with pytest.raises(RunMustStop):
        leg.budget.admit(1)
    leg.spend(Call.UPLOADS, 0)
    leg.spend(Call.VERIFY, 0)
    leg.budget.release(0)

    assert leg.stop.reason is None
    assert not leg.budget.may_begin(50)
    for row in range(50):
        leg.budget.release(row)
    assert leg.ended_by == "window"


def test_a_check_takes_the_calls_of_items_that_wait_for_it_and_have_made_none() -> None:
    """They remain, at no cost; one that has its slot is still owed its verify."""
    leg = Leg(bounds=Bounds(max_calls=6))
    assert leg.begin(0)
    assert leg.begin(1)
    leg.spend(Call.UPLOADS, 0)

    with leg.budget.for_check(is_awaited=True):
        for call in (Call.UPLOADS, Call.VERIFY):
            leg.spend(call, CHECK_ROW)

    with pytest.raises(RunMustStop):
        leg.spend(Call.UPLOADS, 1)
    leg.spend(Call.VERIFY, 0)
    assert leg.stop.reason is None


@pytest.mark.parametrize("is_awaited", [True, False])
def test_without_calls_for_a_check_the_leg_ends_at_once_only_if_all_wait_for_it(*, is_awaited: bool) -> None:
    leg = Leg(bounds=Bounds(max_calls=4))
    assert leg.begin(0)
    leg.spend(Call.UPLOADS, 0)

    with pytest.raises(RunMustStop), leg.budget.for_check(is_awaited=is_awaited):
        pass

    assert leg.ended_by == ("window" if is_awaited else None)
    leg.budget.release(0)
    assert leg.stop.reason is not None
    assert leg.stop.reason.message.endswith("none are left for a check that files wait for.")


@pytest.mark.parametrize("seed", range(50))
def test_no_limit_is_exceeded_whatever_must_be_repeated(seed: int) -> None:
    """By retries, fresh slots, checks and readings of the quota, in any order."""
    chance = Random(seed)  # noqa: S311 - for orders, not for secrets
    most = chance.randrange(3, 60)
    by_limit, by_reserve = Leg(bounds=Bounds(max_calls=most)), Leg(most + 40, Bounds(reserve=40))
    for leg in (by_limit, by_reserve):
        row = 0
        while leg.stop.reason is None:
            row += 1
            if leg.budget.may_begin(row):
                with suppress(RunMustStop):
                    leg.budget.admit(row)
                    for call in chance.choices((Call.UPLOADS, Call.VERIFY), k=chance.randrange(6)):
                        leg.spend(call, row)
            with suppress(RunMustStop), leg.budget.for_check(is_awaited=chance.random() < 0.5):
                for call in chance.choices((Call.UPLOADS, Call.VERIFY), k=chance.randrange(3)):
                    leg.spend(call, CHECK_ROW)
            leg.budget.probe()
            leg.budget.release(row)
        with suppress(RunMustStop):
            leg.budget.claim_last(Call.USAGE)
            leg.charged += 1
        assert leg.charged <= most


def test_a_call_that_was_never_sent_is_still_owed() -> None:
    leg = Leg(bounds=Bounds(max_calls=3))
    assert leg.begin(0)
    leg.budget.claim(0, Call.UPLOADS)
    leg.budget.record(exchange(Call.UPLOADS, bytes_sent=None), 0)

    assert leg.budget.spent == 0
    leg.spend(Call.UPLOADS, 0)
    leg.spend(Call.VERIFY, 0)
    assert leg.budget.spent == 2


@pytest.mark.parametrize("free", [exchange(Call.HEALTH), exchange(Call.SLOT), exchange(Call.VERIFY, bytes_sent=None)])
def test_a_call_without_key_or_never_sent_costs_nothing(free: Exchange) -> None:
    """The quota counts keyed operations (contract, Limits)."""
    leg = Leg(10)
    if free.call.is_keyed:
        leg.budget.claim(None, free.call)
    leg.budget.record(free, None)

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


@pytest.mark.parametrize("headroom", [1, 2, 20, 21])
def test_a_quota_that_has_been_reset_is_read_again_before_the_leg_gives_up(headroom: int) -> None:
    """However few calls were left of the old one, and whatever of them those in flight are owed."""
    leg = Leg(1_000)
    leg.budget.record_reading(headroom, NOW + timedelta(minutes=1))
    begun = [leg.begin(row) for row in range(headroom // 3)]
    leg.budget.clock = lambda: NOW + timedelta(minutes=2)

    begun += [leg.begin(row) for row in range(headroom // 3, 40)]

    assert all(begun)
    assert leg.charged == 1


def test_a_reset_that_has_passed_when_it_is_read_keeps_no_quota_from_its_end() -> None:
    leg = Leg(0)
    leg.budget.record_reading(0, NOW - timedelta(minutes=1))

    assert not leg.begin(0)
    assert leg.charged == 0


def test_of_a_quota_that_legs_share_each_takes_its_part() -> None:
    """What the others leave over is shared again when the quota is read."""
    leg = Leg(30, Bounds(reserve=10, sharers=2))
    for _ in range(8):
        leg.spend(Call.UPLOADS, None)
    leg.quota = 60  # as if it had been reset

    assert leg.begin(0)
    assert leg.charged == 9
