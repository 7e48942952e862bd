"""The site of the store that the settings name."""

from pathlib import Path

import pytest

from proofsweep.errors import ResultsError
from proofsweep.wiring.site import updated_site
from proofsweep.wiring.stores import results_for

from ..ended_runs import answered, end_leg, plan_of_run
from ..wired import Change

PLAN = plan_of_run("20261119T020000Z_000aa")


def test_a_site_is_made_where_it_is_asked_for(change: Change, tmp_path: Path) -> None:
    """Its pages count by the tag that the settings name for suppliers."""
    settings = change(ALERTS__SUPPLIER_TAG="label")
    end_leg(results_for(settings), PLAN, [answered(PLAN, 0, "a.wav", tags='{"label": "Acme & Sons"}')])

    update = updated_site(settings, str(tmp_path / "site"))

    assert (update.files, update.changed, update.nights) == (1, 1, 1)
    assert "Acme &amp; Sons" in (tmp_path / "site" / "index.html").read_text("utf-8")


def test_a_place_that_cannot_be_written_is_called_the_site(change: Change, tmp_path: Path) -> None:
    """Not the results store, which is well."""
    settings = change()
    end_leg(results_for(settings), PLAN, [answered(PLAN, 0, "a.wav")])
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(ResultsError, match=r"^The site .* cannot be written"):
        updated_site(settings, str(tmp_path / "file"))
