"""The notebook runs from its first cell to its last, and has the figures of such a run."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ..worlds.core import results_at
from ..worlds.ended_nights import ACCEPTED, MONDAY, REJECTED, TUESDAY, night
from ..worlds.reported_store import fill

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "analysis" / "nights.ipynb"


def outputs(notebook: dict[str, Any]) -> list[set[str]]:
    """Return the kinds of what each code cell shows."""
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return [{kind for output in cell["outputs"] for kind in output["data"]} for cell in cells]


def test_each_cell_runs_and_shows_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over two nights that changed, and one with calls and grades; without Jupyter."""
    results = results_at(tmp_path / "results")
    fill(results)
    night(results, MONDAY, {"a": ACCEPTED | {"grade_human": 0.9}, "b": REJECTED | {"tags": '{"supplier": "North"}'}})
    night(results, TUESDAY, {"a": REJECTED, "b": REJECTED})
    page = tmp_path / "nights.ipynb"
    page.write_bytes(PAGE.read_bytes())
    monkeypatch.setenv("PROOFSWEEP_RESULTS__URL", results.store.url)

    done = subprocess.run(
        [sys.executable, ROOT / "docs" / "execute_notebook.py", page], check=False, capture_output=True
    )

    assert done.returncode == 0, done.stderr.decode()
    shown = outputs(json.loads(page.read_text(encoding="utf-8")))
    assert shown == outputs(json.loads(PAGE.read_text(encoding="utf-8")))
    assert shown.count({"image/svg+xml"}) == 3
    assert all(shown)
