"""The queries in the docs run, and give what the docs say."""

import re
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow.dataset as ds
import pytest

from proofsweep.results import open_results

from ..worlds.core import verified

ROOT = Path(__file__).parents[2]


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
