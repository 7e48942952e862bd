"""A command without a run means the newest whole run of a catalog."""

from collections.abc import Callable
from pathlib import Path

import pytest

from proofsweep.config.load import Settings
from proofsweep.domain.errors import ResultsError
from proofsweep.domain.runs import INGEST
from proofsweep.wiring.stores import meant_run, results_for

from ...worlds.ended_runs import answered, end_leg, plan_of_run

Change = Callable[..., Settings]


def night(settings: Settings, day: int, **facts: object) -> str:
    """Leave a run of one row behind; give its ID."""
    plan = plan_of_run(f"202611{day:02}T100000Z_a", **facts)
    end_leg(results_for(settings), plan, [answered(plan, 0, "a")])
    return plan.run_id


def test_a_part_of_a_catalog_and_another_environment_are_not_the_newest_run(change: Change) -> None:
    """A pass over a watched folder of one file and a run of another environment came later."""
    settings = change()
    night(settings, 1)
    last = night(settings, 2)
    night(settings, 3, catalog_kind=INGEST)
    night(settings, 4, environment="production")

    plan, note = meant_run(settings, None)
    assert (plan.run_id, note) == (last, None)

    night(settings, 5, catalog="/in", catalog_kind=INGEST)
    plan, note = meant_run(settings, None)

    assert plan.run_id == last
    assert note == (f"The newest whole run is {last}, of /c/catalog.csv; the store has 2 catalogs (--catalog).")


def test_a_catalog_is_named_by_its_place_or_its_name(change: Change, tmp_path: Path) -> None:
    """A link to a folder and a way around to it are the same catalog."""
    settings = change()
    (tmp_path / "music").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "music")
    place = str((tmp_path / "music").resolve())
    music = night(settings, 1, catalog="music", catalog_identity=place)
    named = night(settings, 2, catalog="/in/monday.csv", catalog_identity="Monday")
    night(settings, 3)

    for catalog in ("music", "link", "nowhere/../music"):
        assert meant_run(settings, None, str(tmp_path / catalog))[0].run_id == music
    assert meant_run(settings, None, "Monday")[0].run_id == named
    with pytest.raises(ResultsError, match="There is no run of the catalog Tuesday in"):
        meant_run(settings, None, "Tuesday")


def test_a_store_without_a_run_of_the_settings_needs_a_choice(change: Change) -> None:
    """One other environment is taken; of two, none is guessed."""
    settings = change()
    with pytest.raises(ResultsError, match="begin one with: proofsweep verify CATALOG"):
        meant_run(settings, None)
    only = night(settings, 1, environment="production")

    assert meant_run(settings, None)[0].run_id == only

    night(settings, 2, environment="sandbox")
    with pytest.raises(ResultsError, match="holds runs of the environments production, sandbox"):
        meant_run(settings, None)
    assert meant_run(settings, only)[0].run_id == only
