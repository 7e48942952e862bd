"""Which run somebody must go on with."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from proofsweep.app import App, utc_now
from proofsweep.config.load import Settings, load_settings
from proofsweep.domain.runs import INGEST, Bounds, Plan, new_run_id
from proofsweep.queries.status import describe_run
from proofsweep.store.lease import Legs
from proofsweep.verify.commit import LegParts
from proofsweep.verify.worker import verify_batch

from ..left_behind import let_holder_die, write_journal


@pytest.fixture
def begun(settings: Settings, catalog: str) -> Plan:
    plan, results = App(settings).plan(catalog), App(settings).results
    Legs(results.store, plan.run_id).take(1)
    write_journal(results, plan, 1, [0])
    let_holder_die(results, plan, 1)
    return plan


def verify(config: str, plan: Plan, bounds: Bounds | None = None) -> None:
    """Work on a run, even if another of its catalog began after it was planned."""
    with App(load_settings(config)).attempt(plan.run_id, bounds=bounds) as leg:
        for piece in leg.completed.batches():
            verify_batch(leg, piece)


def copied(settings: Settings, plan: Plan, minutes: float, **facts: str) -> Plan:
    """Write another plan of the same rows that was made so many minutes later."""
    results, at = App(settings).results, utc_now() + timedelta(minutes=minutes)
    made = replace(plan, run_id=new_run_id(at, "aaaaaa"), created_at=at.isoformat(), catalog_term=None, **facts)  # type: ignore[arg-type]
    results.store.create(
        f"_runs/{made.run_id}/items/00000.parquet",
        results.store.read(f"_runs/{plan.run_id}/items/00000.parquet") or b"",
    )
    results.write_plan(made)
    return made


@pytest.mark.parametrize("spelling", ["../music", "link", "music/../music"])
def test_the_run_of_a_catalog_is_found_however_it_is_spelled(
    settings: Settings, catalog: str, begun: Plan, spelling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its dead leg is settled; other catalogs and environments have none."""
    folder = Path(catalog).parent
    (folder / "link").symlink_to(catalog)
    (folder / "other").mkdir()
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere" if spelling.startswith("..") else folder)

    assert App(settings).run_to_resume(spelling) == App(settings).run_to_resume() == begun
    assert App(settings).run_to_resume(str(folder / "other")) is None
    assert describe_run(App(settings).results, begun.run_id).remaining == 2


def test_a_run_whose_rest_was_answered_since_is_skipped_and_marked(
    settings: Settings, config: str, catalog: str, begun: Plan
) -> None:
    """It is not sent again; one whose rest was answered in part goes on."""
    later = copied(settings, begun, 0)
    verify(config, later, Bounds(max_calls=5))
    in_part = App(settings).run_to_resume(catalog)
    verify(config, later)

    assert in_part == later
    assert App(settings).run_to_resume(catalog) is None
    status = describe_run(App(settings).results, begun.run_id)
    assert (status.ended_by, status.remaining, status.is_over) == ("superseded", 2, True)


@pytest.mark.parametrize("has_parts", [False, True])
def test_a_run_that_was_killed_when_all_rows_were_done_is_the_one_to_end(
    settings: Settings, config: str, catalog: str, *, has_parts: bool
) -> None:
    """To verify its catalog again does not begin another one, which would pay for all files once more."""
    results, plan = App(settings).results, App(settings).plan(catalog)
    Legs(results.store, plan.run_id).take(1)
    write_journal(results, plan, 1, range(plan.items))
    if has_parts:
        LegParts.found(results, plan, 1).close()
    let_holder_die(results, plan, 1)
    was_over = describe_run(results, plan.run_id).is_over

    found = App(settings).run_to_resume(catalog)
    verify(config, plan)

    assert (was_over, found) == (False, plan)
    assert describe_run(results, plan.run_id).is_over
    assert App(settings).run_to_resume(catalog) is None


def test_the_run_of_a_pass_is_never_superseded(settings: Settings, config: str, begun: Plan) -> None:
    """Its files are moved when it ends."""
    ingest = copied(settings, begun, 0, catalog_kind=INGEST)
    verify(config, copied(settings, begun, 0.01))

    assert App(settings).run_to_resume() == ingest
