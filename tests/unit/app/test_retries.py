"""What a flow run goes on with when Prefect runs it again."""

from datetime import UTC, datetime, timedelta

import pytest

from proofsweep.app import App
from proofsweep.config.load import Settings
from proofsweep.domain.errors import RunIsActive
from proofsweep.domain.runs import Bounds, Plan
from proofsweep.store import layout
from proofsweep.store.legs import Legs

from ..left_behind import let_holder_die, rows_of, write_journal

CLOSING = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=7)
GIVEN = Bounds(max_calls=50, closes_at=CLOSING)
LATER = Bounds(max_calls=50, closes_at=CLOSING + timedelta(hours=2))
"""What the same parameters give when the flow run is run again two hours later."""


@pytest.fixture
def plan(settings: Settings, catalog: str) -> Plan:
    return App(settings).plan(catalog)


def leave_killed_leg(settings: Settings, plan: Plan, flow_run: str, numbers: list[int]) -> int:
    """Leave a leg whose process is gone, with a claim as a leg of a flow run has it; it made a call for each row."""
    results = App(settings).results
    with App(settings).attempt(plan.run_id, flow_run_id=flow_run, bounds=GIVEN) as (handle, _):
        claim = results.store.read(layout.claim_name(plan.run_id, handle.leg)) or b""
    killed = handle.leg + 1
    results.store.create(layout.claim_name(plan.run_id, killed), claim)
    write_journal(results, plan, killed, numbers)
    return killed


def test_a_first_time_has_all_its_bounds(settings: Settings, plan: Plan) -> None:
    """Nothing was claimed by the flow run; nor by one that Prefect does not run again."""
    assert App(settings).run_of_retry(None, GIVEN) == (None, GIVEN)
    assert App(settings).run_of_retry("flow-7", GIVEN) == (None, GIVEN)
    assert Legs(App(settings).results, plan.run_id).last() == 0


def test_a_killed_flow_run_has_what_is_left_of_its_bounds(settings: Settings, plan: Plan) -> None:
    """Its window closes when it would have closed, and its calls count; the rows that it wrote down are published."""
    killed = leave_killed_leg(settings, plan, "flow-7", [0, 1])
    with pytest.raises(RunIsActive):
        App(settings).run_of_retry("flow-7", LATER)
    let_holder_die(App(settings).results, plan, killed)

    again = App(settings).run_of_retry("flow-7", LATER)

    assert again == (plan.run_id, Bounds(max_calls=48, closes_at=CLOSING))
    assert sorted(map(int, rows_of(App(settings).results, plan))) == [0, 1]
    assert App(settings).run_of_retry("flow-8", LATER) == (None, LATER)


def test_what_a_killed_leg_may_not_spend_any_more_is_not_less_than_nothing(settings: Settings, plan: Plan) -> None:
    """The last calls of a leg may be more than it was given: then the next one makes none."""
    let_holder_die(App(settings).results, plan, leave_killed_leg(settings, plan, "flow-7", [0, 1] * 30))

    assert App(settings).run_of_retry("flow-7", LATER)[1].max_calls == 0


def test_a_killed_flow_run_that_resumed_an_older_run_may_still_plan_its_own(settings: Settings, plan: Plan) -> None:
    """It goes on as for the first time: it resumes the run, and plans what is due then."""
    leave = leave_killed_leg(settings, plan, "flow-7", [0])
    let_holder_die(App(settings).results, plan, leave)
    let_holder_die(App(settings).results, plan, leave_killed_leg(settings, plan, "flow-8", [1]))

    assert App(settings).run_of_retry("flow-8", LATER) == (None, Bounds(max_calls=49, closes_at=CLOSING))
