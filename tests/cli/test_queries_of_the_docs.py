"""Each query of the docs runs as it stands, each question of the cookbook has an answer, the notebook its figures."""

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

from proofsweep.results import ResultsStore, open_results

from ..worlds.core import StoredRun, results_at, verified
from ..worlds.ended_nights import ACCEPTED, FAILED, INELIGIBLE, MONDAY, REJECTED, TUESDAY, night
from ..worlds.ended_runs import exchange
from ..worlds.reported_store import fill

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "cookbook.md").read_text(encoding="utf-8")
QUESTIONS = re.findall(r"\*\*(\d+)\. .*?\n```sql\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
FINALE = "04 Finale.wav"


@pytest.fixture(scope="module")
def label(tmp_path_factory: pytest.TempPathFactory) -> ResultsStore:
    """Two nights of a label: each question has something to find in them."""
    results = results_at(tmp_path_factory.mktemp("store"))
    graded = ACCEPTED | {"classification": "human", "grade_human": 0.9, "grade_rubric_version": "1"}
    tags = {"tags": '{"supplier": "North"}'}
    copied = ACCEPTED | {"audio_sha256": "sha of b"}
    night(results, "20200106T020000Z_000aaaaaa", {"of years ago": ACCEPTED}, catalog="/old")
    rows = {FINALE: REJECTED | tags, "b": ACCEPTED, "c": graded, "d": ACCEPTED, "e": FAILED | tags, "copy of b": copied}
    monday = night(results, MONDAY, rows)
    rows = {FINALE: ACCEPTED | {"audio_sha256": "new"}, "b": REJECTED | tags, "e": INELIGIBLE | tags}
    night(results, TUESDAY, {**rows, "c": graded | {"grade_rubric_version": "2"}, "copy of b": copied})
    StoredRun(results, monday).write_part("exchanges", [exchange(monday, 0, request_id="req-04-verify")])
    return open_results(results.store.url)


def test_there_are_twenty_questions() -> None:
    """Each has its number and its query."""
    assert [int(number) for number, _ in QUESTIONS] == list(range(1, 21))


@pytest.mark.parametrize(("number", "query"), QUESTIONS)
def test_a_question_has_an_answer(label: ResultsStore, number: str, query: str) -> None:
    """No answer is empty, and question 9 counts each file once."""
    answer = label.sql(query).fetchall()

    assert answer
    if number == "9":
        assert dict(answer) == {"accepted": 4, "rejected": 1, "ineligible": 1, "gone": 1}


def blocks(page: str, language: str) -> list[str]:
    """Return the code blocks of a page in one language, except those that need Spark."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found: list[str] = re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [block for block in found if "spark" not in block]


@pytest.mark.parametrize("page", ["README.md", "docs/analysts.md", "docs/tables.md", "docs/quota.md"])
def test_every_query_of_a_page_runs(page: str, workdir: Path, finished_run: str) -> None:
    """Each can be copied and run beside a results store."""
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
    """Over two nights that changed, and one with calls and grades; without Jupyter."""
    results = results_at(tmp_path / "results")
    fill(results)
    night(results, MONDAY, {"a": ACCEPTED | {"grade_human": 0.9}, "b": REJECTED | {"tags": '{"supplier": "North"}'}})
    night(results, TUESDAY, {"a": REJECTED, "b": REJECTED})
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
