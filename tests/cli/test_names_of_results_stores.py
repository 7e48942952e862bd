"""A results store may lie anywhere: names are read from its own root, whatever the folders above it are called."""

import json
import shutil
from pathlib import Path
from urllib.parse import quote

import pytest

from .conftest import Command

ASKED = {
    "by day": "SELECT run_date::VARCHAR, count(*) FROM verdicts GROUP BY ALL ORDER BY ALL",
    "calls by day": "SELECT run_date::VARCHAR, count(*) FROM exchanges GROUP BY ALL ORDER BY ALL",
    "catalog": "SELECT state, count(*) FROM catalog GROUP BY ALL ORDER BY ALL",
    "runs": "SELECT DISTINCT run_id FROM verdicts",
}
NAMES = [
    "_runs",
    "run_date=2020-01-01",
    "_runs/item_id=7",
    "a[b]*?",
    "it's 100%20#1",
    "M\u00fcller & S\u00f6hne",
    "a\\b",
]


@pytest.mark.parametrize("name", NAMES)
def test_answers_are_the_same_below_any_name(
    proofsweep: Command, verified: tuple[Path, str], workdir: Path, name: str
) -> None:
    """Also below one that DuckDB cannot name by itself."""
    plain = verified[0]
    store = workdir / name / "results"
    shutil.copytree(plain, store)

    answers = [
        [proofsweep("query", query, "--format", "json", "--results", url).stdout for query in ASKED.values()]
        for url in (plain, store, f"file://{quote(str(store))}")
    ]
    page = proofsweep("report", "--results", store)

    assert answers[0] == answers[1] == answers[2]
    assert all(map(json.loads, answers[0]))
    assert (page.returncode, page.stderr) == (0, "")
