"""Notes are asked for until they are ready, when the service says, and never for longer than it suggests."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from proofsweep.domain.errors import RunMustStop
from proofsweep.domain.exchanges import Call
from proofsweep.domain.items import Row
from proofsweep.domain.operations import OperationKind
from proofsweep.operations import notes as refresh
from proofsweep.operations.notes import Note, NoteRefresh, NotesRefreshed, refresh_notes, wanted_notes
from proofsweep.operations.operation import Operator
from proofsweep.store.parts import Results

from ...worlds.ended_runs import answered, end_leg, plan_of_run
from ..ended_operations import leave_operation, operation_named, receipt_of
from ..scripted_service import Scripted, ScriptedService

OPERATION = operation_named("20261121T120000Z_000aa", "interpretations")
READY = Scripted(document={"status": "ready", "text": "made by hand", "policyVersion": "7"})
SOON = Scripted(document={"status": "pending", "retryAfterSeconds": 0.01})


class Refreshed:
    def __init__(self, operator: Operator) -> None:
        self.operator = operator

    def run(self, wanted: int = 1, *, most_calls: int | None = None) -> None:
        with self.operator.begun(OperationKind.INTERPRETATIONS, max_calls=most_calls) as work:
            NoteRefresh(work=work).run(Note(str(number), f"item-{number}") for number in range(wanted))

    @property
    def rows(self) -> Sequence[Row]:
        results = self.operator.results
        found: list[Row] = results.table("interpretations", results.all_parts("interpretations")).to_pylist()
        return found


@pytest.fixture
def refreshed(operator: Operator) -> Refreshed:
    return Refreshed(operator)


def test_a_pending_note_is_asked_for_again_until_it_is_ready(refreshed: Refreshed, service: ScriptedService) -> None:
    """Its text and its policy are kept, and how often it was asked for."""
    service.script[Call.INTERPRETATION] = [SOON, SOON, READY]

    refreshed.run()

    (row,) = refreshed.rows
    assert (row["status"], row["text"], row["policy_version"], row["asks"]) == ("ready", "made by hand", "7", 3)
    assert (row["proof_id"], row["item_id"], row["request_id"]) == ("0", "item-0", "id-3")


@pytest.mark.parametrize("told", [None, 0, -5, "soon"])
def test_without_a_usable_wait_it_is_two_seconds(
    refreshed: Refreshed, service: ScriptedService, monkeypatch: pytest.MonkeyPatch, told: object
) -> None:
    """A service that says nothing is not asked in a tight loop."""
    waits = []
    stop = refreshed.operator.service.stop
    monkeypatch.setattr(type(stop), "rest", lambda _self, seconds: waits.append(round(seconds)))
    service.script[Call.INTERPRETATION] = [Scripted(document={"status": "pending", "retryAfterSeconds": told}), READY]

    refreshed.run()

    assert waits == [2]


def test_a_note_that_stays_pending_is_left_for_the_next_time(
    refreshed: Refreshed, service: ScriptedService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After two minutes, which are short here; a wait beyond them is not begun."""
    monkeypatch.setattr(refresh, "_MOST_SECONDS", 0.1)
    service.usual[Call.INTERPRETATION] = SOON
    refreshed.run()
    service.usual[Call.INTERPRETATION] = Scripted(document={"status": "pending", "retryAfterSeconds": 1e9})
    refreshed.run()

    first, second = refreshed.rows
    assert (first["status"], second["status"], second["asks"]) == ("pending", "pending", 1)
    assert 2 <= int(str(first["asks"])) <= 11


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
def test_every_note_has_a_row(refreshed: Refreshed, service: ScriptedService, answer: Scripted, status: str) -> None:
    """Also a status that is not known yet: it is kept as received, and not asked for again now."""
    service.script[Call.INTERPRETATION] = [answer]

    refreshed.run()

    (row,) = refreshed.rows
    assert (row["status"], row["asks"]) == (status, 1)


def test_notes_in_hand_have_rows_when_the_calls_end(refreshed: Refreshed, service: ScriptedService) -> None:
    """They are pending."""
    service.usual[Call.INTERPRETATION] = SOON

    with pytest.raises(RunMustStop):
        refreshed.run(3, most_calls=7)

    assert [row["status"] for row in refreshed.rows] == ["pending"] * 3
    assert sum(int(str(row["asks"])) for row in refreshed.rows) == 7


def test_a_refresh_asks_once_for_each_note(operator: Operator, service: ScriptedService) -> None:
    """When all are ready, nothing is asked, and no operation begins."""
    plan = plan_of_run("20261120T010000Z_000aa", items=2)
    end_leg(operator.results, plan, [answered(plan, number, str(number), proof_id=f"p{number}") for number in range(2)])
    service.usual[Call.INTERPRETATION] = READY

    first, second = (refresh_notes(operator) for _ in range(2))

    receipt = receipt_of(operator.results)
    assert first.line() == "2 proofs without a note: 2 ready"
    assert second == NotesRefreshed(operation_id=None, wanted=0, states={})
    assert second.line().startswith("Every accepted proof has")
    counts = receipt["counts"]
    assert isinstance(counts, dict)
    assert (counts["calls"], counts["wanted"], counts["states"]) == (2, 2, {"ready": 2})


ASKED = OPERATION.started_at


def test_ready_and_gone_notes_are_not_asked_for_again(results: Results) -> None:
    """Never asked comes first; what is unavailable waits for a week; a rejected file's proof has no part in it."""
    states = ["ready", "gone", "unavailable", "pending", "failed"]
    plan = plan_of_run("20261120T010000Z_000aa", items=10)
    rows = [answered(plan, number, state, proof_id=state) for number, state in enumerate(states)]
    rows += [answered(plan, 5, "new", proof_id="new"), answered(plan, 6, "bad", "rejected", proof_id="bad")]
    rows += [answered(plan, 7 + each, f"odd {each}", proof_id="." * each) for each in range(3)]  # no proof IDs
    end_leg(results, plan, rows)
    notes = [{"proof_id": state, "status": state, "asks": 1, "asked_at": ASKED} for state in states]
    leave_operation(results, OPERATION, rows={"interpretations": notes})

    soon = wanted_notes(results, "beta", ASKED + timedelta(days=1))
    later = wanted_notes(results, "beta", ASKED + timedelta(days=8))

    assert [(each.proof_id, each.item_id) for each in soon] == [
        ("new", "new"),
        ("failed", "failed"),
        ("pending", "pending"),
    ]
    assert {each.proof_id for each in later} == {"new", "failed", "pending", "unavailable"}


def test_a_proof_that_is_accepted_again_is_not_gone(results: Results) -> None:
    """The newest answer knows better."""
    plan = plan_of_run("20261122T010000Z_000aa")
    end_leg(results, plan, [answered(plan, 0, "a", proof_id="p")])
    note = {"proof_id": "p", "status": "gone", "asks": 1, "asked_at": ASKED}
    leave_operation(results, OPERATION, rows={"interpretations": [note]})

    assert [each.proof_id for each in wanted_notes(results, "beta", ASKED)] == ["p"]
