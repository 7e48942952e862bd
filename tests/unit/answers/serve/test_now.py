"""What goes on in a store."""

from dataclasses import replace

from proofsweep.answers.serve.now import now_in
from proofsweep.model.layout import claim_name
from proofsweep.store.legs import Legs
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.store import json_bytes

from .conftest import begin


def test_only_runs_with_a_living_process_are_active(results: Results) -> None:
    """Not one that ended, was stopped, or was only planned; nor one whose process is gone."""
    assert now_in(results).active == ()
    plan = begin(results)

    (run,) = now_in(results).active

    assert (run.run_id, run.leg.leg, run.leg.progress is not None) == (plan.run_id, 1, True)
    assert now_in(results).active_run("another") is None
    assert now_in(results).active_run(plan.run_id) is not None


def test_a_killed_process_works_on_nothing(results: Results) -> None:
    """Its leg has no receipt, and nobody holds it."""
    plan = begin(results)
    legs = Legs(results, plan.run_id)
    claim = legs.holder(1)
    assert claim is not None
    gone = replace(claim, pid=2**22 - 1)
    members = {name: getattr(gone, name) for name in type(gone).__slots__}
    results.store.replace(claim_name(plan.run_id, 1), json_bytes(members))

    assert now_in(results).active == ()


def test_the_state_changes_when_a_leg_begins_or_ends(results: Results) -> None:
    """And not by a heartbeat."""
    idle = now_in(results).state
    plan = begin(results)
    working = now_in(results).state
    Legs(results, plan.run_id).write_receipt(1, {"ended_by": "cancelled", "counts": {"remaining": 3}})

    assert len({idle, working, now_in(results).state}) == 3
    assert now_in(results).state == now_in(results).state
