"""Every exchange is in the journal and on the budget as soon as it is over."""

from proofsweep.model.bounds import Bounds
from proofsweep.model.exchanges import Call
from proofsweep.store.journal import Segments
from proofsweep.verify.leg.leg_context import LegContext

from ...conftest import LegBuilder
from ...left_behind import exchange, journal_rows


def leg_of(new_leg: LegBuilder) -> LegContext:
    """Build a leg of four calls."""
    return new_leg.leg(new_leg.plan(1), bounds=Bounds(max_calls=4))


def test_an_exchange_is_written_down_for_its_row(new_leg: LegBuilder) -> None:
    """A crash in the next second loses no request ID; a call for no item has no row."""
    leg = leg_of(new_leg)

    leg.trail.note(7, exchange())
    leg.trail.note(None, exchange(Call.USAGE))
    leg.journal.flush()

    assert journal_rows(leg.results, leg.plan, 1, "exchanges") == [7, None]
    assert journal_rows(leg.results, leg.plan, 1) == []


def test_every_keyed_call_is_on_the_budget(new_leg: LegBuilder) -> None:
    """Of four calls one is spent, which leaves what an item and the last usage call need; the next leaves less."""
    leg = leg_of(new_leg)

    leg.trail.note(None, exchange())
    leg.trail.note(None, exchange(Call.SLOT))
    first = leg.budget.admits(0)
    leg.budget.release(0)
    leg.trail.note(None, exchange())

    assert (first, leg.budget.admits(0)) == (True, False)


def test_exchanges_of_no_row_are_written_once(new_leg: LegBuilder) -> None:
    """They are taken from their list, oldest first; those that come later are for the next time."""
    new_leg.unattributed += [exchange(Call.HEALTH), exchange(Call.USAGE)]
    leg = leg_of(new_leg)

    leg.trail.write_unattributed()
    leg.trail.write_unattributed()
    leg.journal.flush()

    assert new_leg.unattributed == []
    (segment,) = Segments(leg.results, leg.plan.run_id, 1).tables("exchanges")
    assert segment["call"].to_pylist() == ["health", "usage"]
    assert segment["manifest_row"].to_pylist() == [None, None]
