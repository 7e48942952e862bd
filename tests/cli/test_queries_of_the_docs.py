"""Each query of the docs runs as it stands, and the notebook has its figures."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow.dataset as ds
import pytest

from proofsweep.results import open_results

from ..worlds.core import results_at, verified
from ..worlds.ended_nights import ACCEPTED, MONDAY, REJECTED, TUESDAY, WEDNESDAY, night
from ..worlds.reported_store import fill

ROOT = Path(__file__).parents[2]
COOKBOOK = "docs/cookbook.md"  # its queries are held against the truth elsewhere


def blocks(page: str, language: str) -> list[str]:
    """Return the code blocks of a page in one language, except those that need Spark or our views."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found: list[str] = re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [] if (page, language) == (COOKBOOK, "sql") else [block for block in found if "spark" not in block]


@pytest.mark.parametrize("page", ["README.md", "docs/analysts.md", COOKBOOK, "docs/tables.md", "docs/quota.md"])
def test_every_query_of_a_page_runs(page: str, workdir: Path, finished_run: str) -> None:
    """Each can be copied and run beside a results store, also if that has rows of another environment."""
    night(results_at("results"), MONDAY, {"a": ACCEPTED}, environment="production")
    assert (workdir / "results" / "_runs" / finished_run).is_dir()

    for sql in blocks(page, "sql"):
        duckdb.sql(sql).fetchall()
    for code in blocks(page, "python"):
        exec(code, {})  # noqa: S102 - our own page


def test_types_are_the_same_in_every_file_and_reader(workdir: Path) -> None:
    """A run whose report-only columns are all null reads with the types of any other."""
    (workdir / "music").mkdir()
    (workdir / "music" / "empty.wav").touch()
    verified(workdir / "music")

    schema = open_results("results").table("verdicts").schema
    dataset = ds.dataset("results/verdicts", partitioning="hive")
    frame = pd.read_parquet("results/verdicts", dtype_backend="pyarrow")

    assert dataset.schema.names == [*schema.names, "run_date"]
    assert all(dataset.schema.field(name).type == schema.field(name).type for name in schema.names)
    assert frame["grade_human"].dtype.pyarrow_dtype == schema.field("grade_human").type
    assert frame["grade_human"].isna().all()


NOTEBOOK = ROOT / "docs" / "analysis" / "nights.ipynb"


def outputs(notebook: dict[str, Any]) -> list[set[str]]:
    """Return the kinds of what each code cell shows."""
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return [{kind for output in cell["outputs"] for kind in output["data"]} for cell in cells]


def test_each_cell_runs_and_shows_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over two nights that changed, and one with calls and grades, of one of two environments; without Jupyter."""
    results = results_at(tmp_path / "results")
    fill(results)
    night(results, MONDAY, {"a": ACCEPTED | {"grade_human": 0.9}, "b": REJECTED | {"tags": '{"supplier": "North"}'}})
    night(results, TUESDAY, {"a": REJECTED, "b": REJECTED})
    night(results, WEDNESDAY, {"a": ACCEPTED}, environment="production")
    monkeypatch.setenv("PROOFSWEEP_SERVICE__ENVIRONMENT", "beta")
    page = tmp_path / "nights.ipynb"
    page.write_bytes(NOTEBOOK.read_bytes())
    monkeypatch.setenv("PROOFSWEEP_RESULTS__URL", results.store.url)

    done = subprocess.run(
        [sys.executable, ROOT / "docs" / "execute_notebook.py", page], check=False, capture_output=True
    )

    assert done.returncode == 0, done.stderr.decode()
    shown = outputs(json.loads(page.read_text(encoding="utf-8")))
    assert shown == outputs(json.loads(NOTEBOOK.read_text(encoding="utf-8")))
    assert shown.count({"image/svg+xml"}) == 3
    assert all(shown)
