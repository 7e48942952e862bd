"""A worker process begins items with the calls of its slices, and says how many it made."""

import pytest

from proofsweep.domain.budget.bounds import Bounds
from proofsweep.domain.exchanges import Call
from proofsweep.usecases.leg.granted_budget import GrantedBudget

from ..conftest import LegBuilder
from ..left_behind import exchange
from ..scripted_service import NOW


@pytest.fixture
def budget(new_leg: LegBuilder) -> GrantedBudget:
    """A budget without a grant; the leg's own bound is for the process that holds the leg."""
    return GrantedBudget(Bounds(max_calls=1_000), new_leg.partner, new_leg.stop, lambda: NOW)


def work(budget: GrantedBudget, rows: range) -> int:
    """Begin as many of these items as may begin; give their number. Each makes its two calls."""
    begun = 0
    for row in rows:
        if budget.admits(row):
            begun += 1
            for call in (Call.UPLOADS, Call.VERIFY):
                budget.note(exchange(call), row)
            budget.release(row)
    return begun


def test_nothing_begins_without_calls(budget: GrantedBudget) -> None:
    """The items remain, and the process does not stop."""
    assert not budget.admits(1)
    assert budget.refused == 1
    assert budget._stop.reason is None


def test_as_many_items_begin_as_calls_are_granted(budget: GrantedBudget) -> None:
    """Five calls are enough for two files; what is left goes with the slice."""
    budget.take(5)

    assert work(budget, range(4)) == 2
    assert budget.refused == 2
    assert budget.hand_back(5) == 4
    assert not budget.admits(9)


def test_calls_are_counted_once(budget: GrantedBudget) -> None:
    """Two slices of one process share its calls; together they say what was made, and leave none."""
    budget.take(4)
    budget.take(8)
    work(budget, range(3))

    assert budget.hand_back(4) == 6
    work(budget, range(3, 6))
    assert budget.hand_back(8) == 2
    assert work(budget, range(6, 9)) == 0


def test_any_number_of_calls_is_for_one_slice(budget: GrantedBudget) -> None:
    """A bound may become known while the leg goes on."""
    budget.take(None)
    assert work(budget, range(50)) == 50
    assert budget.hand_back(None) == 100

    budget.take(2)
    assert work(budget, range(50, 55)) == 1
