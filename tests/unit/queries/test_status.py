"""The status of a run is read from its parts and receipts."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ResultsError
from proofsweep.domain.runs import INGEST, Plan, new_run_id
from proofsweep.queries.status import describe_run, meant_run, run_worked_on_by, unfinished_runs
from proofsweep.store.journal import Journal
from proofsweep.store.lease import Legs
from proofsweep.store.objects import FolderStore, open_store
from proofsweep.store.parts import Results
from proofsweep.store.rows import exchange_row
from proofsweep.verify.commit import LegParts, settle_leg

from ...worlds.ended_runs import answered, end_leg, plan_of_run
from ..left_behind import BreakingStore, exchange, let_holder_die, verdict, write_journal, write_part

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
LONG_AGO = NOON - timedelta(days=400)


@pytest.fixture
def no_runs(tmp_path: Path) -> Results:
    return Results(open_store(str(tmp_path)))


@pytest.fixture
def results(no_runs: Results, plan: Plan) -> Results:
    no_runs.write_plan(plan)
    return no_runs


def legs_of(results: Results, plan: Plan) -> Legs:
    return Legs(results.store, plan.run_id, lambda: datetime.now(UTC))


def test_the_rows_and_calls_that_a_killed_leg_wrote_down_are_counted(results: Results, plan: Plan) -> None:
    """Each once; the run is not over before all are."""
    write_part(results, plan, 1, 0, [0])
    end_leg(results, plan, leg=1)
    legs_of(results, plan).take(2)
    write_journal(results, plan, 2, [1, 2])
    write_journal(results, plan, 2, [3], writer="other")
    alive = describe_run(results, plan.run_id)

    let_holder_die(results, plan, 2)

    run = describe_run(results, plan.run_id)
    assert (alive.finished, alive.unpublished) == (1, 0)
    assert (run.finished, run.unpublished, run.remaining, run.is_over) == (4, 3, 0, False)
    assert (run.ended_by, run.legs[-1].count("calls")) == ("killed", 3)
    assert list(unfinished_runs(results)) == [plan]


def test_the_status_of_a_night_is_that_of_its_legs_together(results: Results) -> None:
    """Each leg has some of its rows."""
    night = plan_of_run("20261102T000000Z_000aa", items=10)
    for leg in range(1, 10):
        rows = [answered(night, leg, str(leg), "failed" if leg % 2 else "accepted", reason="timeout")]
        end_leg(results, night, rows, leg=leg)

    groups = describe_run(results, night.run_id).groups
    assert [(group.outcome, group.rows, group.example) for group in groups] == [
        ("accepted", 4, "/c/2"),
        ("failed", 5, "/c/1"),
    ]


def test_each_receipt_is_read_once(results: Results, plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    """It counts the rows of its leg, so that no part of it is looked for."""
    for leg in (1, 2):
        (legs := Legs(results.store, plan.run_id)).take(leg)
        write_journal(results, plan, leg, [leg])
        settle_leg(LegParts.found(results, plan, leg), legs, EndedBy.WINDOW, {})
    read, names = FolderStore.read, list[str]()
    monkeypatch.setattr(FolderStore, "read", lambda store, name: names.append(name) or read(store, name))

    assert describe_run(results, plan.run_id).finished == 2
    assert len([name for name in names if name.endswith("/receipt.json")]) == 2


def planned_before_noon(no_runs: Results, plan: Plan, hours_ago: int) -> Plan:
    at = NOON - timedelta(hours=hours_ago)
    made = replace(plan, run_id=new_run_id(at, "aaaaaa"), created_at=at.isoformat())
    no_runs.write_plan(made)
    return made


def test_a_flow_run_is_known_by_the_claims_of_its_legs(no_runs: Results, plan: Plan) -> None:
    """The lease is written before the first call, so a leg that was killed is found; others' legs are not."""
    own, other = planned_before_noon(no_runs, plan, 5), planned_before_noon(no_runs, plan, 4)
    Legs(no_runs.store, own.run_id).take(1, {"flow_run_id": "f0"})
    Legs(no_runs.store, own.run_id).take(2, {"flow_run_id": "f1"})
    Legs(no_runs.store, other.run_id).take(1, {"flow_run_id": "f2"})

    assert run_worked_on_by(no_runs, "f1", LONG_AGO) == own.run_id
    assert run_worked_on_by(no_runs, "f9", LONG_AGO) is None


def test_what_a_killed_leg_has_published_does_not_wait(no_runs: Results, tmp_path: Path) -> None:
    """Its segments may still be there; its calls are counted once too."""
    plan = plan_of_run("20261120T120000Z_000aa", 4, batch_items=2)
    no_runs.write_plan(plan)
    legs_of(no_runs, plan).take(1)
    journal = Journal(no_runs, plan.run_id, 1, "w")
    parts = LegParts(Results(BreakingStore(tmp_path, writes_left=2)), plan, 1)  # both parts, and no deletion
    for row in (0, 1):
        trail = exchange_row(exchange(), run_id=plan.run_id, leg=1, manifest_row=row)
        journal.add(verdict(plan, 1, row), [trail])
        journal.flush()
        if row == 0:
            with pytest.raises(ResultsError, match="broke off"):
                parts.publish(journal)
    let_holder_die(no_runs, plan, 1)

    run = describe_run(no_runs, plan.run_id)

    assert (run.finished, run.unpublished, run.total("calls")) == (2, 1, 2)


def meant(results: Results, run_id: str | None, catalog: str | None = None) -> tuple[Plan, str | None]:
    return meant_run(results, "beta", run_id, catalog)


def night(results: Results, day: int, **facts: object) -> str:
    plan = plan_of_run(f"202611{day:02}T100000Z_a", **facts)
    end_leg(results, plan, [answered(plan, 0, "a")])
    return plan.run_id


def test_a_part_of_a_catalog_and_another_environment_are_not_the_newest_run(no_runs: Results) -> None:
    """A pass over a watched folder of one file and a run of another environment came later."""
    night(no_runs, 1)
    last = night(no_runs, 2)
    night(no_runs, 3, catalog_kind=INGEST)
    night(no_runs, 4, environment="production")

    plan, note = meant(no_runs, None)
    assert (plan.run_id, note) == (last, None)

    night(no_runs, 5, catalog="/in", catalog_kind=INGEST)
    plan, note = meant(no_runs, None)

    assert plan.run_id == last
    assert note == (f"The newest whole run is {last}, of /c/catalog.csv; the store has 2 catalogs (--catalog).")


def test_a_catalog_is_named_by_its_place_or_its_name(no_runs: Results, tmp_path: Path) -> None:
    """A link to a folder and a way around to it are the same catalog."""
    (tmp_path / "music").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "music")
    place = str((tmp_path / "music").resolve())
    music = night(no_runs, 1, catalog="music", catalog_identity=place)
    named = night(no_runs, 2, catalog="/in/monday.csv", catalog_identity="Monday")
    night(no_runs, 3)

    for catalog in ("music", "link", "nowhere/../music"):
        assert meant(no_runs, None, str(tmp_path / catalog))[0].run_id == music
    assert meant(no_runs, None, "Monday")[0].run_id == named
    with pytest.raises(ResultsError, match="There is no run of the catalog Tuesday in"):
        meant(no_runs, None, "Tuesday")


def test_a_store_without_a_run_of_the_settings_needs_a_choice(no_runs: Results) -> None:
    """One other environment is taken; of two, none is guessed."""
    with pytest.raises(ResultsError, match="begin one with: proofsweep verify CATALOG"):
        meant(no_runs, None)
    only = night(no_runs, 1, environment="production")

    assert meant(no_runs, None)[0].run_id == only

    night(no_runs, 2, environment="sandbox")
    with pytest.raises(ResultsError, match="holds the environments production, sandbox"):
        meant(no_runs, None)
    assert meant(no_runs, only)[0].run_id == only
