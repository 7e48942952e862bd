"""An item begins only if its calls are covered: by what the leg was given, and by what the partner says is left."""

from datetime import UTC, datetime, timedelta

import pytest

from proofsweep.contract.headers import AnswerHeaders
from proofsweep.domain.budget.bounds import Bounds
from proofsweep.domain.budget.budget import Budget, Shortage, reset_clause, seconds_after_reset
from proofsweep.domain.exchanges import Call, Exchange

NOW = datetime(2026, 11, 20, tzinfo=UTC)


def exchange(call: Call, *, was_sent: bool = True) -> Exchange:
    """Make an exchange of which only the call matters."""
    sent = 0 if was_sent else None
    return Exchange(call=call, attempt=1, started_at=NOW, elapsed_ms=1.0, headers=AnswerHeaders(), bytes_sent=sent)


def spend(ledger: Budget, calls: int, call: Call = Call.UPLOADS) -> None:
    """Note so many calls of no row."""
    for _ in range(calls):
        ledger.note(exchange(call), None)


def verify_all(ledger: Budget, rows: int, *, at_once: int) -> int:
    """Work through rows as a pool of workers would; give how many were begun."""
    begun = 0
    while begun < rows and ledger.shortage() is None:
        batch = []
        while begun < rows and len(batch) < at_once and ledger.shortage() is None:
            ledger.begin(begun)
            batch.append(begun)
            begun += 1
        for call in (Call.UPLOADS, Call.SLOT, Call.VERIFY):
            for row in batch:
                ledger.note(exchange(call), row)
        for row in batch:
            ledger.end(row)
    return begun


@pytest.mark.parametrize("at_once", [1, 3, 16])
@pytest.mark.parametrize(("max_calls", "items"), [(2, 0), (3, 1), (4, 1), (5, 2), (21, 10), (100, 49)])
def test_a_budget_of_calls_is_kept_to_the_call(max_calls: int, items: int, at_once: int) -> None:
    """Two for each item, whether it is in flight or done, and one for the last look at the headroom."""
    ledger = Budget(Bounds(max_calls=max_calls))

    assert verify_all(ledger, 1_000, at_once=at_once) == items
    assert ledger.spent + 1 <= max_calls
    assert ledger.shortage() is Shortage.CALLS


@pytest.mark.parametrize("at_once", [1, 16])
@pytest.mark.parametrize(("headroom", "reserve", "items"), [(0, 0, 0), (30, 0, 14), (31, 0, 15), (100, 69, 15)])
def test_a_headroom_is_used_up_to_the_reserve(headroom: int, reserve: int, items: int, at_once: int) -> None:
    """So the leg ends before the partner has to refuse a call."""
    ledger = Budget(Bounds(reserve=reserve))
    ledger.was_told(headroom, None, 0)

    assert verify_all(ledger, 1_000, at_once=at_once) == items
    assert ledger.shortage() is Shortage.QUOTA


def test_without_bounds_and_without_a_figure_everything_may_begin() -> None:
    """A service that cannot tell its quota is worked with."""
    ledger = Budget(Bounds(reserve=50))
    ledger.was_told(None, None, 0)

    assert verify_all(ledger, 500, at_once=16) == 500
    assert ledger.left is None


def test_calls_made_while_the_figure_was_on_its_way_count_as_not_in_it() -> None:
    """It may be older than they are, never younger than the question."""
    ledger = Budget()
    ledger.was_told(1_000, None, 0)
    spend(ledger, 10)
    asked_at = ledger.spent
    spend(ledger, 5)

    ledger.was_told(990, None, asked_at)

    assert ledger.left == 985


def test_the_look_at_the_headroom_is_in_its_own_answer() -> None:
    """It is a keyed call like any other, and spent."""
    ledger = Budget()
    ledger.was_told(1_000, None, 0)
    ledger.note(exchange(Call.USAGE), None)

    assert (ledger.spent, ledger.left) == (1, 1_000)


@pytest.mark.parametrize(
    ("fell_by", "left_after_100_more"), [(100, 800), (300, 400), (50, 900), (10, 940), (0, 900), (-5_000, 5_900)]
)
def test_what_a_call_costs_is_learned_from_the_headroom(fell_by: int, left_after_100_more: int) -> None:
    """Others may spend too, and not every call may be charged; a headroom that did not fall teaches nothing."""
    ledger = Budget()
    ledger.was_told(1_000, None, 0)
    spend(ledger, 100)
    ledger.was_told(1_000 - fell_by, None, 100)
    spend(ledger, 100)

    assert ledger.left == left_after_100_more


@pytest.mark.parametrize("headroom", [200, 201, 202])
def test_a_count_that_may_be_mistaken_leaves_a_call_to_ask_about_it(headroom: int) -> None:
    """Fifty calls after the last look, another look is kept back; after it there is none to keep."""
    ledger = Budget(Bounds(reserve=10))
    ledger.was_told(headroom, None, 0)
    begun = verify_all(ledger, 1_000, at_once=16)

    ledger.note(exchange(Call.USAGE), None)
    ledger.was_told(headroom - 2 * begun - 1, None, ledger.spent)

    assert ledger.is_worth_asking is False
    assert ledger.left is not None
    assert 11 <= ledger.left <= 14


def test_a_look_is_not_made_with_a_call_that_is_needed() -> None:
    """A budget that is spent holds one call for the last look, and none for another."""
    ledger = Budget(Bounds(max_calls=4))
    could_look = ledger.can_look
    ledger.begin(0)

    assert (could_look, ledger.can_look) == (True, True)
    ledger.note(exchange(Call.USAGE), None)
    assert ledger.can_look is False


def test_others_who_spend_bring_the_end_forward() -> None:
    """What they take is seen at the next look, and expected to go on."""
    ledger = Budget()
    ledger.was_told(10_000, None, 0)
    spend(ledger, 1_000)
    ledger.was_told(1_000, None, 1_000)

    assert verify_all(ledger, 1_000, at_once=16) == pytest.approx(1_000 / 9 / 2, abs=2)


def test_an_item_that_was_not_sent_gives_back_what_was_set_aside() -> None:
    """A file that turns out to be none costs no call."""
    ledger = Budget(Bounds(max_calls=3))
    ledger.begin(0)
    shortage_meanwhile = ledger.shortage()
    ledger.end(0)

    assert (shortage_meanwhile, ledger.shortage()) == (Shortage.CALLS, None)


def test_a_second_try_is_spent_and_the_item_still_owed_its_verify() -> None:
    """Tries again are the one thing by which a budget may be overshot."""
    ledger = Budget(Bounds(max_calls=5))
    ledger.begin(0)
    for _ in range(3):
        ledger.note(exchange(Call.UPLOADS), 0)

    assert (ledger.spent, ledger.shortage()) == (3, Shortage.CALLS)


@pytest.mark.parametrize("free", [exchange(Call.HEALTH), exchange(Call.SLOT), exchange(Call.VERIFY, was_sent=False)])
def test_what_carries_no_key_or_never_went_out_costs_nothing(free: Exchange) -> None:
    """The quota is of keyed operations (contract, Limits)."""
    ledger = Budget()
    ledger.note(free, None)

    assert ledger.spent == 0


@pytest.mark.parametrize("reset", [None, NOW, NOW - timedelta(days=1)])
def test_a_reset_that_is_past_or_not_told_says_nothing(reset: datetime | None) -> None:
    """It is a date, and may be stale."""
    assert reset_clause(reset, NOW) == "when it begins anew is not told"
    assert reset_clause(NOW + timedelta(days=11), NOW) == "it begins anew 2026-12-01 00:00 UTC"


@pytest.mark.parametrize(
    ("passed_seconds", "wait_seconds"),
    [(None, 0.0), (-1, 0.0), (0, 2.0), (59, 2.0), (60, 0.0), (86_400, 0.0)],
)
def test_who_comes_back_right_after_a_reset_waits_a_moment(passed_seconds: int | None, wait_seconds: float) -> None:
    """Many runs may have waited for it; each draws its own wait of at most five seconds."""
    reset = None if passed_seconds is None else NOW - timedelta(seconds=passed_seconds)

    assert seconds_after_reset(reset, NOW, 0.4) == wait_seconds
    assert seconds_after_reset(reset, NOW, 0.0) == 0.0
