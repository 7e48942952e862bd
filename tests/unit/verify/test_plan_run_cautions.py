"""What is unwise is said before a run, and stops nothing."""

from collections.abc import Callable
from pathlib import Path

from proofsweep.app import App
from proofsweep.config.load import Settings
from proofsweep.verify.history import note_run
from proofsweep.verify.plan import cautions_of

from ...worlds.ended_runs import end_leg, plan_of_run

Change = Callable[..., Settings]


def test_a_store_of_its_own_beside_the_catalog_is_fine(change: Change, tmp_path: Path) -> None:
    """Nothing is said, and nothing is made."""
    (tmp_path / "music").mkdir()

    assert cautions_of(App(change()).results, App(change()).environment, str(tmp_path / "music")) == []
    assert not (tmp_path / "results").exists()


def test_a_store_inside_the_catalogs_folder_is_said(change: Change, tmp_path: Path) -> None:
    """Each scan reads it; also through a link, and in a bucket."""
    (tmp_path / "link").symlink_to(tmp_path)

    assert (
        "lies inside the catalog's folder"
        in cautions_of(App(change()).results, App(change()).environment, str(tmp_path / "link"))[0]
    )
    bucket = change(RESULTS__URL=str(tmp_path / "elsewhere"))
    assert cautions_of(App(bucket).results, App(bucket).environment, "s3://music") == []


def test_a_second_environment_in_one_store_is_said(change: Change, tmp_path: Path) -> None:
    """Queries over all tables would mix them."""
    settings = change()
    plan = plan_of_run("20261116T100000Z_a", environment="production")
    end_leg(App(settings).results, plan)
    note_run(App(settings).results, plan)

    (caution,) = cautions_of(App(settings).results, App(settings).environment, str(tmp_path / "list.csv"))

    assert "holds runs of production too" in caution
    assert "those of beta" in caution
