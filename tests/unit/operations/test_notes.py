"""Notes are asked for until they are ready, once each time, and each call has its row."""

from dataclasses import replace
from datetime import timedelta

import pytest

from proofsweep.domain.errors import RunMustStop
from proofsweep.domain.exchanges import Call
from proofsweep.domain.runs import Bounds
from proofsweep.operations.notes import refresh_notes, wanted_notes
from proofsweep.operations.operation import Operator
from proofsweep.store.parts import Results

from ...worlds.ended_runs import answered, end_leg, plan_of_run
from ..ended_operations import leave_operation, operation_named
from ..scripted_service import Scripted, ScriptedService

OPERATION = operation_named("20261121T120000Z_000aa", "interpretations")
ASKED = OPERATION.started_at
READY = Scripted(document={"status": "ready", "text": "made by hand", "policyVersion": "7"})


def test_a_pending_note_is_asked_for_again_the_next_time_until_it_is_ready(
    operator: Operator, service: ScriptedService
) -> None:
    """When all are ready, nothing is asked, and no operation begins."""
    results, plan = operator.results, plan_of_run("20261120T010000Z_000aa", items=2)
    end_leg(results, plan, [answered(plan, number, str(number), proof_id=f"p{number}") for number in range(2)])
    service.usual[Call.INTERPRETATION] = READY
    service.script[Call.INTERPRETATION] = [Scripted(document={"status": "pending", "retryAfterSeconds": 30})]

    lines = [refresh_notes(operator).line for _ in range(2)]

    rows = results.table("interpretations", results.all_parts("interpretations")).to_pylist()
    assert lines == ["2 proofs without a note: 1 pending, 1 ready", "1 proof without a note: 1 ready"]
    assert refresh_notes(operator).document() == {"operation_id": None, "wanted": 0}
    assert service.calls == [Call.INTERPRETATION] * 3
    assert sorted((row["status"], row["text"], row["policy_version"], row["retry_after_seconds"]) for row in rows) == [
        ("pending", None, None, 30.0),
        *[("ready", "made by hand", "7", None)] * 2,
    ]
    assert {row["request_id"] for row in rows} == {"id-1", "id-2", "id-3"}


def test_a_refresh_that_runs_out_of_calls_says_how_many_notes_came(
    operator: Operator, service: ScriptedService
) -> None:
    """The rest is asked for next time."""
    plan = plan_of_run("20261120T010000Z_000aa", items=5)
    end_leg(operator.results, plan, [answered(plan, number, str(number), proof_id=f"p{number}") for number in range(5)])
    service.usual[Call.INTERPRETATION] = READY

    with pytest.raises(RunMustStop, match=r"3 of 5 proofs were asked for: 3 ready\.$"):
        refresh_notes(replace(operator, bounds=Bounds(max_calls=3)))

    assert len(wanted_notes(operator.results, operator.environment, operator.service.clock())) == 2


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (Scripted(status=404), "gone"),
        (Scripted(document={"status": "unavailable"}), "unavailable"),
        (Scripted(document={"status": "brandNew"}), "brandNew"),
        (Scripted(document={"text": "no status"}), "failed"),
        (Scripted(status=418), "failed"),
    ],
)
def test_every_note_has_a_row(operator: Operator, service: ScriptedService, answer: Scripted, status: str) -> None:
    """Also a status that is not known yet: it is kept as received."""
    plan = plan_of_run("20261120T010000Z_000aa")
    end_leg(operator.results, plan, [answered(plan, 0, "a", proof_id="p")])
    service.script[Call.INTERPRETATION] = [answer]

    assert refresh_notes(operator).counts == {"wanted": 1, status: 1}


def test_ready_and_gone_notes_are_not_asked_for_again(results: Results) -> None:
    """Never asked comes first; what is unavailable waits for a week; a rejected file's proof has no part in it.

    What was accepted since is not gone: the newest answer knows better.
    """
    states = ["ready", "gone", "unavailable", "pending", "failed"]
    plan = plan_of_run("20261120T010000Z_000aa", items=10)
    rows = [answered(plan, number, state, proof_id=state) for number, state in enumerate(states)]
    rows += [answered(plan, 5, "new", proof_id="new"), answered(plan, 6, "bad", "rejected", proof_id="bad")]
    rows += [answered(plan, 7 + each, f"odd {each}", proof_id="." * each) for each in range(3)]  # no proof IDs
    end_leg(results, plan, rows)
    notes = [{"proof_id": state, "status": state, "asked_at": ASKED} for state in states]
    leave_operation(results, OPERATION, rows={"interpretations": notes})

    soon = wanted_notes(results, "beta", ASKED + timedelta(days=1))
    later = wanted_notes(results, "beta", ASKED + timedelta(days=8))

    assert soon == [("new", "new"), ("failed", "failed"), ("pending", "pending")]
    assert {proof_id for proof_id, _ in later} == {"new", "failed", "pending", "unavailable"}


def test_a_file_that_each_night_accepts_anew_asks_for_no_unavailable_note_before_a_week(results: Results) -> None:
    """Nothing new is known of its note; a proof that was gone is there again."""
    states = ["gone", "unavailable"]
    notes = [{"proof_id": state, "status": state, "asked_at": ASKED} for state in states]
    leave_operation(results, OPERATION, rows={"interpretations": notes})
    plan = plan_of_run("20261122T010000Z_000aa", items=2)
    end_leg(results, plan, [answered(plan, number, state, proof_id=state) for number, state in enumerate(states)])

    found = [{*wanted_notes(results, "beta", ASKED + timedelta(days=days))} for days in (1, 8)]

    assert found == [{("gone", "gone")}, {("gone", "gone"), ("unavailable", "unavailable")}]
