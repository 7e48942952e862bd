"""The status of a run is read from its parts and receipts."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ResultsError
from proofsweep.domain.runs import INGEST, Plan
from proofsweep.queries.status import (
    describe_run,
    meant_run,
    newest_run,
    only_active_run,
    words_on_no_run,
)
from proofsweep.store import layout
from proofsweep.store.journal import Journal
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results
from proofsweep.store.rows import exchange_row
from proofsweep.verify.commit import LegParts, commit_leg
from proofsweep.verify.resume import run_worked_on_by, unfinished_runs

from ...worlds.core import StoredRun, begin_leg
from ...worlds.ended_runs import answered, end_leg, plan_of_run
from ..left_behind import BreakingStore, exchange, let_holder_die, verdict, write_journal, write_part

LONG_AGO = datetime(2025, 10, 16, 12, tzinfo=UTC)


def test_the_rows_and_calls_that_a_killed_leg_wrote_down_are_counted(results: Results, plan: Plan) -> None:
    """Each once; the run is not over before all are."""
    results.write_plan(plan)
    write_part(results, plan, 1, 0, [0])
    end_leg(results, plan, leg=1, ended_by="window")
    StoredRun(results, plan).take(2)
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
    results.write_plan(plan)
    for leg in (1, 2):
        StoredRun(results, plan).take(leg)
        write_journal(results, plan, leg, [leg])
        commit_leg(LegParts.found(results, plan, leg), EndedBy.WINDOW, {})
    read, names = FolderStore.read, list[str]()
    monkeypatch.setattr(FolderStore, "read", lambda store, name: names.append(name) or read(store, name))

    assert describe_run(results, plan.run_id).finished == 2
    assert len([name for name in names if name.endswith("/receipt.json")]) == 2


def test_a_flow_run_is_known_by_the_claims_of_its_legs(results: Results) -> None:
    """The log has it before the first call, so a leg that was killed is found; others' legs are not."""
    own, other = (plan_of_run(f"20261120T0{hour}0000Z_000aa") for hour in (7, 8))
    for plan in (own, other):
        results.write_plan(plan)
    begin_leg(results, own, 1, flow_run_id="f0")
    begin_leg(results, own, 2, flow_run_id="f1")
    begin_leg(results, other, 1, flow_run_id="f2")

    assert run_worked_on_by(results, "f1", LONG_AGO) == own.run_id
    assert run_worked_on_by(results, "f9", LONG_AGO) is None


def test_what_a_killed_leg_has_published_does_not_wait(results: Results) -> None:
    """Its segments may still be there; its calls are counted once too."""
    plan = plan_of_run("20261120T120000Z_000aa", 4, batch_items=2)
    results.write_plan(plan)
    StoredRun(results, plan).take(1)
    journal = Journal(results, plan.run_id, 1, "w")
    breaking = BreakingStore(Path(results.store.url), writes_left=2)  # both parts, and no deletion
    parts = LegParts(Results(breaking), plan, 1, journal)
    for row in (0, 1):
        trail = exchange_row(exchange(), run_id=plan.run_id, leg=1, manifest_row=row, environment=plan.environment)
        journal.add(verdict(plan, 1, row), [trail])
        journal.flush()
        if row == 0:
            with pytest.raises(ResultsError, match="broke off"):
                parts.publish()
    let_holder_die(results, plan, 1)

    run = describe_run(results, plan.run_id)

    assert (run.finished, run.unpublished, run.total("calls")) == (2, 1, 2)


def meant(results: Results, run_id: str | None, catalog: str | None = None) -> tuple[Plan, str | None]:
    return meant_run(results, "beta", run_id, catalog)


def night(results: Results, day: int, **facts: object) -> str:
    plan = plan_of_run(f"202611{day:02}T100000Z_a", **facts)
    end_leg(results, plan, [answered(plan, 0, "a")])
    return plan.run_id


def test_a_command_without_a_run_speaks_of_its_own_environment(results: Results) -> None:
    """Neither what another one did last, nor what it works on."""
    own = night(results, 1)
    other = plan_of_run("20261102T100000Z_a", environment="production")
    results.write_plan(other)
    StoredRun(results, other).take(1)

    assert (newest_run(results, "beta"), newest_run(results, "other")) == (own, None)
    assert (only_active_run(results, "beta"), only_active_run(results, "production")) == (None, other.run_id)


def test_a_part_of_a_catalog_and_another_environment_are_not_the_newest_run(results: Results) -> None:
    """A pass over a watched folder of one file and a run of another environment came later."""
    night(results, 1)
    last = night(results, 2)
    night(results, 3, catalog_kind=INGEST)
    night(results, 4, environment="production")

    plan, note = meant(results, None)
    assert (plan.run_id, note) == (last, None)

    night(results, 5, catalog="/in", catalog_kind=INGEST)
    plan, note = meant(results, None)

    assert plan.run_id == last
    assert note == (f"The newest run is {last}, of /c/catalog.csv; the store has 2 catalogs (--catalog).")

    chosen = night(results, 6, skipped=2, unmet=2, selection="--where x")

    plan, note = meant(results, None, "/c/catalog.csv")
    assert plan.run_id == chosen  # what somebody has just looked for
    alone = "it has chosen rows alone, and the newest of the whole catalog is"
    assert note == f"The newest run is {chosen}, of /c/catalog.csv; {alone} {last}."


def test_a_catalog_is_named_by_its_place_or_its_name(results: Results, tmp_path: Path) -> None:
    """A link to a folder and a way around to it are the same catalog."""
    (tmp_path / "music").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "music")
    place = str((tmp_path / "music").resolve())
    music = night(results, 1, catalog="music", catalog_identity=place)
    named = night(results, 2, catalog="/in/monday.csv", catalog_identity="Monday")
    night(results, 3)

    for catalog in ("music", "link", "nowhere/../music"):
        assert meant(results, None, str(tmp_path / catalog))[0].run_id == music
    assert meant(results, None, "Monday")[0].run_id == named
    with pytest.raises(ResultsError, match="There is no run of the catalog Tuesday in"):
        meant(results, None, "Tuesday")


def test_a_store_without_a_run_of_the_settings_needs_a_choice(results: Results) -> None:
    """One other environment is taken; of two, none is guessed."""
    with pytest.raises(ResultsError, match="begin one with: proofsweep verify CATALOG"):
        meant(results, None)
    only = night(results, 1, environment="production")

    assert meant(results, None)[0].run_id == only

    night(results, 2, environment="sandbox")
    with pytest.raises(ResultsError, match="holds the environments production, sandbox"):
        meant(results, None)
    assert meant(results, only)[0].run_id == only


def test_a_store_of_damaged_plans_is_not_called_empty(
    results: Results, plan: Plan, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who begins anew there pays for everything again. The plan is named once, not with each of its legs."""
    assert "begin one with" in words_on_no_run(results)
    end_leg(results, plan, [answered(plan, 0, "a")])
    results.store.replace(layout.plan_name(plan.run_id), b"{")
    capsys.readouterr()

    said = words_on_no_run(Results(results.store))

    assert "restore what is damaged from a backup; see: proofsweep audit" in said
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"proofsweep: {layout.plan_name(plan.run_id)} cannot be read")
