"""The status of a run is the sum of its rows and its legs."""

import pytest

from proofsweep.domain.runs import Plan
from proofsweep.queries.status import Group, LegStatus, RunStatus

ACCEPTED = Group(outcome="accepted", verdict="valid", reason=None, rows=2, example="/music/1.wav")
TAMPERED = Group(outcome="rejected", verdict="tampered", reason="tampered", rows=1, example="/music/0.wav")


def a_leg(number: int, ended_by: str | None, why: str | None = None, **counts: object) -> LegStatus:
    """Make a leg that ended so, with these counts in its receipt."""
    return LegStatus(leg=number, ended_by=ended_by, why=why, counts=counts)


def test_a_run_adds_up_its_groups_and_legs(plan: Plan) -> None:
    """Rows come from the groups, calls and seconds from all legs; the last leg says how the run ended."""
    two_seconds = {"started_at": "2026-11-20T10:00:00+00:00", "finished_at": "2026-11-20T10:00:02+00:00"}
    legs = (a_leg(1, "cancelled", calls=4, **two_seconds), a_leg(2, "breaker", calls=3, **two_seconds))

    run = RunStatus(plan=plan, groups=(ACCEPTED, TAMPERED), legs=legs)

    assert (run.finished, run.remaining, run.ended_by) == (3, 1, "breaker")
    assert (run.rows("accepted"), run.rows("rejected"), run.rows("failed")) == (2, 1, 0)
    assert (run.total("calls"), run.seconds) == (7, 4.0)


@pytest.mark.parametrize(("rows", "why"), [(3, "The window closed."), (4, None)])
def test_why_a_run_stopped_matters_only_while_rows_remain(plan: Plan, rows: int, why: str | None) -> None:
    """A run with all its rows needs no explanation."""
    group = Group(outcome="accepted", verdict="valid", reason=None, rows=rows, example="/music/1.wav")

    run = RunStatus(plan=plan, groups=(group,), legs=(a_leg(1, "window", "The window closed."),))

    assert run.why == why


def test_the_last_sunset_of_any_leg_is_kept(plan: Plan) -> None:
    """A later leg may have received none."""
    run = RunStatus(plan=plan, groups=(), legs=(a_leg(1, "quota", sunset="soon"), a_leg(2, "quota", sunset=None)))

    assert run.sunset == "soon"
