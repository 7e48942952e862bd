"""An item begins only if its calls are covered: by the leg's own limit and by the partner's headroom."""

from datetime import UTC, datetime, timedelta

import pytest

from proofsweep.domain.endings import EndedBy
from proofsweep.domain.exchanges import Call, Exchange
from proofsweep.domain.headers import AnswerHeaders
from proofsweep.domain.runs import Bounds, seconds_after_reset
from proofsweep.domain.text import reset_clause
from proofsweep.verify.budget import Budget, calls_of

NOW = datetime(2026, 11, 20, tzinfo=UTC)


def exchange(call: Call, *, was_sent: bool = True) -> Exchange:
    """Make an exchange with this call; the rest does not matter."""
    sent = 0 if was_sent else None
    return Exchange(call=call, attempt=1, started_at=NOW, elapsed_ms=1.0, headers=AnswerHeaders(), bytes_sent=sent)


def spend(budget: Budget, calls: int, call: Call = Call.UPLOADS) -> None:
    """Note so many calls of no row."""
    for _ in range(calls):
        budget.note(exchange(call), None)


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
    budget = Budget(Bounds(reserve=reserve))
    budget.take_snapshot(headroom, None, 0)

    assert verify_all(budget, 1_000, at_once=at_once) == items
    assert budget.shortage() is EndedBy.QUOTA


def test_without_bounds_and_without_a_snapshot_everything_may_begin() -> None:
    """A service that does not tell its quota can still be used."""
    budget = Budget(Bounds(reserve=50))
    budget.take_snapshot(None, None, 0)

    assert verify_all(budget, 500, at_once=16) == 500
    assert budget.left is None


def test_calls_made_during_the_probe_count_as_not_in_the_snapshot() -> None:
    """The snapshot may be older than they are, but not newer than its request."""
    budget = Budget()
    budget.take_snapshot(1_000, None, 0)
    spend(budget, 10)
    spent_before = budget.spent
    spend(budget, 5)

    budget.take_snapshot(990, None, spent_before)

    assert budget.left == 985


def test_a_probe_is_included_in_its_own_answer() -> None:
    """It is a keyed call, so it is spent."""
    budget = Budget()
    budget.take_snapshot(1_000, None, 0)
    budget.note(exchange(Call.USAGE), None)

    assert (budget.spent, budget.left) == (1, 1_000)


@pytest.mark.parametrize(
    ("fell_by", "left_after_100_more"),
    [(100, 800), (150, 700), (300, 500), (900, -100), (50, 900), (10, 940), (0, 900), (-5_000, 5_900)],
)
def test_what_a_call_costs_is_learned_from_the_headroom(fell_by: int, left_after_100_more: int) -> None:
    """From a half to two: what is more was spent by others. A headroom that did not fall shows nothing."""
    budget = Budget()
    budget.take_snapshot(1_000, None, 0)
    spend(budget, 100)
    budget.take_snapshot(1_000 - fell_by, None, 100)
    spend(budget, 100)

    assert budget.left == max(0, left_after_100_more)


@pytest.mark.parametrize("headroom", [200, 201, 202])
def test_an_uncertain_estimate_reserves_a_call_for_a_probe(headroom: int) -> None:
    """Fifty calls after a snapshot, a call for the next probe is reserved; after that probe it is not."""
    budget = Budget(Bounds(reserve=10))
    budget.take_snapshot(headroom, None, 0)
    begun = verify_all(budget, 1_000, at_once=16)

    budget.note(exchange(Call.USAGE), None)
    budget.take_snapshot(headroom - 2 * begun - 1, None, budget.spent)

    assert budget.is_probe_due is False
    assert budget.left is not None
    assert 11 <= budget.left <= 14


def test_a_probe_never_uses_a_call_that_is_needed() -> None:
    """A budget that is used up has one call for the last probe, and none for another."""
    budget = Budget(Bounds(max_calls=4))
    could_probe = budget.can_probe
    budget.begin(0)

    assert (could_probe, budget.can_probe) == (True, True)
    budget.note(exchange(Call.USAGE), None)
    assert budget.can_probe is False


def test_other_users_of_the_key_bring_the_end_forward() -> None:
    """What they took between two snapshots, they are expected to take again, by the second and not by our calls."""
    budget = Budget()
    budget.take_snapshot(10_000, None, 0, now=0.0)
    spend(budget, 100)
    budget.take_snapshot(8_800, None, 100, now=100.0)

    assert budget.shortage(now=100.0 + 879) is None
    assert budget.shortage(now=100.0 + 881) is EndedBy.QUOTA


@pytest.mark.parametrize(("headroom", "is_short"), [(8_800, False), (9_500, True)])
def test_others_who_have_stopped_are_forgotten(headroom: int, is_short: bool) -> None:
    """A burst that is over brings no end forward; only a snapshot that is higher shows nothing."""
    budget = Budget()
    budget.take_snapshot(10_000, None, 0, now=0.0)
    budget.take_snapshot(8_800, None, 0, now=1.0)

    budget.take_snapshot(headroom, None, 0, now=60.0)

    assert (budget.shortage(now=3_600.0) is EndedBy.QUOTA) is is_short


def test_a_burst_of_others_multiplies_no_call_that_is_owed() -> None:
    """Sixty files in flight are owed 120 calls: at most 240 of the quota."""
    budget = Budget()
    budget.take_snapshot(10_000, None, 0, now=0.0)
    spend(budget, 50)
    budget.take_snapshot(250, None, 50, now=10.0)
    for row in range(60):
        budget.begin(row)

    assert budget.shortage(now=10.0) is None
    assert budget.can_probe


@pytest.mark.parametrize(("max_calls", "may_begin"), [(3, False), (4, True)])
def test_a_proof_begins_only_with_a_call_more_than_a_file(max_calls: int, may_begin: bool) -> None:
    """Its asset's URL costs one; the last probe of the headroom is the fourth."""
    budget = Budget(Bounds(max_calls=max_calls))
    proof, file = calls_of("proof:p"), calls_of("/music/proof.wav")

    assert budget.shortage(calls=file) is None
    assert (budget.shortage(calls=proof) is None) is may_begin
    budget.begin(0, proof)
    assert budget.owed == 3


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


@pytest.mark.parametrize("reset", [None, NOW, NOW - timedelta(days=1)])
def test_a_reset_that_is_past_or_missing_says_nothing(reset: datetime | None) -> None:
    """A reset time in the past is stale."""
    assert reset_clause(reset, NOW) == "its reset time is not known"
    assert reset_clause(NOW + timedelta(days=11), NOW) == "it resets 2026-12-01 00:00 UTC"


@pytest.mark.parametrize(
    ("passed_seconds", "wait_seconds"),
    [(None, 0.0), (-1, 0.0), (0, 2.0), (59, 2.0), (60, 0.0), (86_400, 0.0)],
)
def test_a_run_right_after_a_reset_waits_a_moment(passed_seconds: int | None, wait_seconds: float) -> None:
    """Many runs may have waited for the reset; each draws its own wait of at most five seconds."""
    reset = None if passed_seconds is None else NOW - timedelta(seconds=passed_seconds)

    assert seconds_after_reset(reset, NOW, 0.4) == wait_seconds
    assert seconds_after_reset(reset, NOW, 0.0) == 0.0
