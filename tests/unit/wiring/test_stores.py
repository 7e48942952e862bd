"""Opening the results store that the settings name."""

from pathlib import Path

from proofsweep.settings import load_settings
from proofsweep.wiring.stores import results_for


def test_the_store_is_where_the_settings_say(tmp_path: Path) -> None:
    """A folder that does not exist is an empty store."""
    results = results_for(load_settings("sandbox", str(tmp_path / "results")))

    assert results.store.url == str(tmp_path / "results")
    assert results.run_ids() == []
