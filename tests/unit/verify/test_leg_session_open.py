"""A leg begins only when no other is alive, and after one that died was settled."""

import os
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from proofsweep.domain.errors import ResultsError, RunIsActive
from proofsweep.domain.runs import INGEST, Plan
from proofsweep.store import layout
from proofsweep.store.legs import Legs
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results
from proofsweep.verify import attempt
from proofsweep.verify.attempt import open_leg, settle_last_leg, settle_legs_before, supersede

from ..conftest import RUN, LegBuilder
from ..left_behind import journal_rows, let_holder_die, rows_of, write_journal
from ..scripted_service import NOW

FACTS = {"key_fingerprint": "abc", "quota_before": 900}


class RivalStore(FolderStore):
    """A store in which another process claims every leg a moment earlier."""

    def create(self, name: str, content: bytes) -> None:
        """Let the other one be first."""
        if name.endswith("claim.json"):
            super().create(name, content.replace(b'"host": "', b'"host": "other-'))
        super().create(name, content)


@pytest.fixture
def plan(new_leg: LegBuilder) -> Plan:
    """A run of four items."""
    return new_leg.plan(4)


def open_next(results: Results, plan: Plan) -> int:
    """Open the next leg as this process."""
    return open_leg(results, plan, lambda: NOW, dict(FACTS))


def begin_next(results: Results, plan: Plan) -> int:
    """Open the next leg, and settle those before it."""
    leg = open_next(results, plan)
    settle_legs_before(results, plan, lambda: NOW, leg)
    return leg


def runs_rows(results: Results, plan: Plan) -> list[dict[str, object]]:
    """Read the rows of a run's legs."""
    return results.table("runs", results.parts_of("runs", plan)).to_pylist()


def test_a_leg_that_is_alive_keeps_every_other_out(results: Results, plan: Plan, new_leg: LegBuilder) -> None:
    """The error names who works on it; nothing is claimed and nothing is settled."""
    open_next(results, plan)
    write_journal(results, plan, 1, [0])

    with pytest.raises(RunIsActive) as active:
        open_next(results, plan)

    assert f"process {os.getpid()} on {socket.gethostname()}" in active.value.message
    assert new_leg.legs(plan).numbers() == [1]
    assert new_leg.legs(plan).receipt(1) is None
    assert journal_rows(results, plan, 1) == [0]


def test_a_leg_that_died_is_settled_before_the_next(results: Results, plan: Plan, new_leg: LegBuilder) -> None:
    """Its journal becomes its own part, its claim's facts its row in `runs`, and its ending is `killed`."""
    open_next(results, plan)
    write_journal(results, plan, 1, [2, 0])
    let_holder_die(results, plan, 1)

    leg = begin_next(results, plan)

    receipt = new_leg.legs(plan).receipt(1)
    (row,) = runs_rows(results, plan)
    assert leg == 2
    assert rows_of(results, plan) == [0, 2]
    assert receipt is not None
    assert receipt["ended_by"] == "killed"
    assert (row["ended_by"], row["accepted"], row["remaining"], row["quota_before"]) == ("killed", 2, 2, 900)
    assert journal_rows(results, plan, 1) == []


def test_of_two_that_open_at_the_same_moment_one_is_told_of_the_other(plan: Plan, tmp_path: Path) -> None:
    """The claim is created only once, so the later process begins nothing."""
    results = Results(RivalStore(tmp_path / "results"))

    with pytest.raises(RunIsActive, match=r"Leg 1 .* on other-"):
        open_next(results, plan)


def test_a_settled_leg_without_its_row_gets_it(results: Results, plan: Plan, new_leg: LegBuilder) -> None:
    """Its process ended after the receipt: the receipt holds the cells, and the journal is deleted as well."""
    new_leg.legs(plan).claim(1)
    write_journal(results, plan, 1, [0])
    cells = {"run_id": plan.run_id, "leg": 1, "environment": "beta", "ended_by": "quota", "started_at": str(NOW)}
    new_leg.legs(plan).write_receipt(1, {"ended_by": "quota", "counts": cells})

    for _ in range(2):
        settle_last_leg(results, plan, lambda: NOW)

    (row,) = runs_rows(results, plan)
    assert (row["ended_by"], row["started_at"]) == ("quota", NOW)
    assert journal_rows(results, plan, 1) == []


class LateRivalStore(FolderStore):
    """A store in which another process claims the next leg right after this one has read the last."""

    def folders(self, folder: str) -> list[str]:
        """List the legs; then the other process is first."""
        found = super().folders(folder)
        if not found and folder.endswith("legs"):
            Legs(Results(FolderStore(Path(self.url))), RUN).claim(1)
        return found


def test_a_leg_that_a_rival_claims_at_the_last_moment_keeps_this_one_out(plan: Plan, tmp_path: Path) -> None:
    """The listing does not show it, and may lag behind; the claim is read by its name."""
    results = Results(LateRivalStore(tmp_path))

    with pytest.raises(RunIsActive):
        open_next(results, plan)

    assert Legs(results, RUN).last() == 1


def test_a_folder_without_a_claim_is_no_leg(results: Results, plan: Plan, tmp_path: Path) -> None:
    """A process that claims a leg makes its folder first: the next one must not take that leg for a dead one."""
    folder = tmp_path / "results" / layout.leg_folder(plan.run_id, 1)
    folder.mkdir(parents=True)

    settle_last_leg(results, plan, lambda: NOW)
    leg = open_next(results, plan)

    assert leg == 1
    assert results.parts_of("verdicts", plan) == []


def test_a_leg_that_ends_meanwhile_is_not_taken_for_killed(results: Results, plan: Plan, new_leg: LegBuilder) -> None:
    """Its process is gone, but its receipt is there: the next leg begins, and the receipt stays as it is."""
    open_next(results, plan)
    let_holder_die(results, plan, 1)
    new_leg.legs(plan).write_receipt(1, {"ended_by": "quota", "parts": []})

    leg = open_next(results, plan)
    settle_legs_before(results, plan, lambda: NOW, leg)

    assert leg == 2
    assert new_leg.legs(plan).receipt(1) == {"ended_by": "quota", "parts": []}


def test_all_dead_legs_are_settled_in_order(results: Results, plan: Plan, new_leg: LegBuilder) -> None:
    """A process may be killed between its claim and the settling of the leg before it."""
    for leg, numbers in enumerate(([0, 1], [1, 2]), start=1):
        open_next(results, plan)
        write_journal(results, plan, leg, numbers)
        let_holder_die(results, plan, leg)

    settle_last_leg(results, plan, lambda: NOW)

    receipts = [new_leg.legs(plan).receipt(leg) or {} for leg in (1, 2)]
    assert rows_of(results, plan) == [0, 1, 2]
    assert [receipt["ended_by"] for receipt in receipts] == ["killed"] * 2
    assert receipts[1]["previous_receipt_sha256"] == new_leg.legs(plan).receipt_digest(1)


def test_exchanges_that_were_written_down_after_the_receipt_are_published(results: Results, plan: Plan) -> None:
    """The process of a leg that was taken over came back, and was killed before it could do so itself."""
    open_next(results, plan)
    write_journal(results, plan, 1, [0])
    let_holder_die(results, plan, 1)
    settle_last_leg(results, plan, lambda: NOW)
    write_journal(results, plan, 1, [0, 1])

    settle_last_leg(results, plan, lambda: NOW)

    assert rows_of(results, plan) == [0]
    assert rows_of(results, plan, "exchanges") == [0, 1]
    assert journal_rows(results, plan, 1, "exchanges") == []


def other_run_of(results: Results, plan: Plan, **facts: str) -> Plan:
    """Plan another run of the same catalog."""
    other = replace(plan, run_id=f"{plan.run_id}b", **facts)  # type: ignore[arg-type]
    results.write_plan(other)
    return other


def test_a_new_run_that_meets_a_live_one_of_its_catalog_is_superseded(results: Results, plan: Plan) -> None:
    """Nobody takes its plan up later; the live one works on."""
    open_next(results, plan)
    other = other_run_of(results, plan)

    with pytest.raises(RunIsActive, match=f"run {plan.run_id}"):
        open_next(results, other)

    (row,) = runs_rows(results, other)
    assert (row["ended_by"], row["remaining"], row["calls"]) == ("superseded", 4, 0)
    with pytest.raises(ResultsError, match="superseded"):
        open_next(results, other)


def test_a_run_that_has_worked_is_only_refused_while_another_works(results: Results, plan: Plan) -> None:
    """Its leg is not there; it goes on afterwards."""
    other = other_run_of(results, plan)
    Legs(results, other.run_id).claim(1)
    Legs(results, other.run_id).write_receipt(1, {"ended_by": "window"})
    open_next(results, plan)

    with pytest.raises(RunIsActive):
        open_next(results, other)
    numbers = Legs(results, other.run_id).numbers()
    let_holder_die(results, plan, 1)

    assert (numbers, open_next(results, other)) == ([1], 2)


def test_a_pass_over_a_folder_and_a_sweep_of_it_work_beside_each_other(results: Results, plan: Plan) -> None:
    """The sweep yields to the pass by its rate."""
    open_next(results, plan)

    assert open_next(results, other_run_of(results, plan, catalog_kind=INGEST)) == 1


def test_a_run_is_superseded_with_the_rows_that_it_has(results: Results, plan: Plan) -> None:
    """A leg of it that died is settled first; one that is alive is left alone."""
    open_next(results, plan)
    write_journal(results, plan, 1, [2])
    with pytest.raises(RunIsActive):
        supersede(results, plan, lambda: NOW)
    let_holder_die(results, plan, 1)

    supersede(results, plan, lambda: NOW)

    assert rows_of(results, plan) == [2]
    assert [row["ended_by"] for row in runs_rows(results, plan)] == ["killed", "superseded"]


def test_a_row_is_written_before_a_later_leg_is_settled(
    results: Results, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that is killed while it settles leaves no leg with a receipt behind one without a row."""
    for leg in (1, 2):
        begin_next(results, plan)
        let_holder_die(results, plan, leg)
    settle_last_leg(results, plan, lambda: NOW)
    results.store.delete(layout.runs_name(plan.run_id, plan.run_date, 2))
    open_next(results, plan)
    let_holder_die(results, plan, 3)
    monkeypatch.setattr(attempt, "settle_leg", _killed)

    with pytest.raises(KeyboardInterrupt):
        settle_last_leg(results, plan, lambda: NOW)

    assert [row["leg"] for row in runs_rows(results, plan)] == [1, 2]


def _killed(*_arguments: object) -> None:
    raise KeyboardInterrupt
