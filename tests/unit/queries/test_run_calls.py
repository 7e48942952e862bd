"""Of a run's calls the store may not know all: what is said of them is no more than that."""

import pytest

from proofsweep.queries.run_calls import CallsKnown, calls_of_run
from proofsweep.queries.search import searching
from proofsweep.reports.explain import words_on_calls
from proofsweep.store.journal import Journal
from proofsweep.store.parts import Results
from proofsweep.verify.repair import end_dead_legs

from ...worlds.core import StoredRun
from ...worlds.ended_nights import MONDAY
from ...worlds.ended_runs import answered, end_leg, exchange, plan_of_run
from ..scripted_service import NOW

PLAN = plan_of_run(MONDAY, items=2)
FAILED = exchange(PLAN, 1, "uploads", 1, status=503, request_id="r-503")


@pytest.mark.parametrize(
    ("is_killed", "known"), [(True, CallsKnown.SOME), (False, CallsKnown.SO_FAR)], ids=["killed", "at work"]
)
def test_calls_that_only_a_journal_has_are_told(results: Results, *, is_killed: bool, known: CallsKnown) -> None:
    """Those of a leg that was killed, or works: no receipt says that there are no others."""
    run = StoredRun(results, PLAN)
    run.write_plan()
    run.take(is_killed=is_killed)
    journal = Journal(results, PLAN.run_id, 1, "w")
    journal.add(answered(PLAN, 1, "b", "failed"), [FAILED])
    journal.flush()

    found = calls_of_run(results, PLAN.run_id)

    with searching(results) as search:
        kinds = search.kinds_of_failed_calls(PLAN.run_id)
    assert [(kind["status"], kind["environment"], kind["named"][0]["request_id"]) for kind in kinds] == [
        (503, "beta", "r-503")
    ]
    assert found == known
    assert "succeeded" not in words_on_calls(PLAN.run_id, known, has_failed=False)


def test_a_run_that_a_killed_leg_began_is_known_in_part_for_good(results: Results) -> None:
    """Its last leg has ended well; what the first one did after its last flush is in no table."""
    run = StoredRun(results, PLAN)
    run.write_plan()
    run.take(is_killed=True)
    end_dead_legs(results, lambda: NOW)
    end_leg(results, PLAN, [answered(PLAN, 1, "b")], leg=2)

    assert calls_of_run(results, PLAN.run_id) == CallsKnown.SOME


def test_every_call_succeeded_only_if_all_are_known(results: Results) -> None:
    results.write_plan(PLAN)
    planned = calls_of_run(results, PLAN.run_id)
    end_leg(results, PLAN, [answered(PLAN, 0, "a")])
    ended = calls_of_run(results, PLAN.run_id)

    said = {known: words_on_calls(MONDAY, known, has_failed=False) for known in CallsKnown}

    assert (planned, ended) == (CallsKnown.NONE_YET, CallsKnown.ALL)
    assert calls_of_run(results, "nothing") is None
    assert [known for known, words in said.items() if "Every call" in words] == [CallsKnown.ALL]
    assert "pruned" in said[CallsKnown.PRUNED]
