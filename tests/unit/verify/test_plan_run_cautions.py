"""What is unwise is said before a run, and stops nothing."""

from collections.abc import Callable
from pathlib import Path

from proofsweep.config.load import Settings
from proofsweep.verify.history import note_run
from proofsweep.wiring.stores import cautions_for, results_for

from ...worlds.ended_runs import end_leg, plan_of_run

Change = Callable[..., Settings]


def test_a_store_of_its_own_beside_the_catalog_is_fine(change: Change, tmp_path: Path) -> None:
    """Nothing is said, and nothing is made."""
    (tmp_path / "music").mkdir()

    assert cautions_for(change(), str(tmp_path / "music")) == []
    assert not (tmp_path / "results").exists()


def test_a_store_inside_the_catalogs_folder_is_said(change: Change, tmp_path: Path) -> None:
    """Each scan reads it; also through a link, and in a bucket."""
    (tmp_path / "link").symlink_to(tmp_path)

    assert "lies inside the catalog's folder" in cautions_for(change(), str(tmp_path / "link"))[0]
    bucket = change(RESULTS__URL=str(tmp_path / "elsewhere"))
    assert cautions_for(bucket, "s3://music") == []


def test_a_second_environment_in_one_store_is_said(change: Change, tmp_path: Path) -> None:
    """Queries over all tables would mix them."""
    settings = change()
    plan = plan_of_run("20261116T100000Z_a", environment="production")
    end_leg(results_for(settings), plan)
    note_run(results_for(settings), plan)

    (caution,) = cautions_for(settings, str(tmp_path / "list.csv"))

    assert "holds runs of production too" in caution
    assert "those of beta" in caution
