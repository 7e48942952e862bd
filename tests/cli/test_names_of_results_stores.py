"""A results store may lie anywhere: names are read from its own root, whatever the folders above it are called."""

import json
import shutil
from pathlib import Path
from urllib.parse import quote

from .conftest import Command

ASKED = """
    SELECT 'verdicts' AS of, run_date::VARCHAR AS name, count(*) AS rows FROM verdicts GROUP BY ALL
    UNION ALL SELECT 'exchanges', run_date::VARCHAR, count(*) FROM exchanges GROUP BY ALL
    UNION ALL SELECT 'states', state, count(*) FROM catalog GROUP BY ALL
    UNION ALL SELECT 'runs', run_id, 1 FROM runs ORDER BY ALL
"""
NAMES = [
    "_runs/run_date=2020-01-01",
    "it's 100%20#1 a[b]*?",
    "M\u00fcller\\S\u00f6hne",
]


def test_answers_are_the_same_below_any_name(proofsweep: Command, verified: tuple[Path, str], workdir: Path) -> None:
    """Also below one that DuckDB cannot name by itself."""

    def answer(url: Path | str) -> object:
        return json.loads(proofsweep("query", ASKED, "--format", "json", "--results", url).stdout)

    plain = answer(verified[0])
    assert isinstance(plain, list)
    assert {row["of"] for row in plain} == {"verdicts", "exchanges", "states", "runs"}
    for name in NAMES:
        store = workdir / name / "results"
        shutil.copytree(verified[0], store)
        page = proofsweep("report", "--results", store)

        assert (name, answer(store), answer(f"file://{quote(str(store))}")) == (name, plain, plain)
        assert (name, page.returncode, page.stderr) == (name, 0, "")
