"""The queries in the docs run, and give what the docs say."""

import re
import shutil
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow.dataset as ds
import pytest

from proofsweep.model.tables.schemas import SCHEMAS
from proofsweep.settings import load_settings
from proofsweep.verify.leg.work import verify_slice
from proofsweep.wiring.engines import engine_for
from proofsweep.wiring.legs import claimed_next_leg
from proofsweep.wiring.runs import plan_catalog

ROOT = Path(__file__).parents[2]


def blocks(page: str, language: str) -> list[str]:
    """Return the code blocks of a page in one language, except those that need Spark."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found: list[str] = re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [block for block in found if "spark" not in block]


def verify(catalog: Path) -> None:
    """Verify a catalog into `results`, without Prefect."""
    plan = plan_catalog(load_settings(), str(catalog))
    with claimed_next_leg(engine_for(load_settings()), plan.run_id) as (_, leg):
        for piece in leg.remaining.slices():
            verify_slice(leg, piece)


@pytest.mark.parametrize("page", ["README.md", "docs/analysts.md", "docs/tables.md", "docs/quota.md"])
def test_every_query_of_a_page_runs(page: str, workdir: Path, finished_run: str) -> None:
    """Each can be copied and run beside a results store."""
    assert (workdir / "results" / "_runs" / finished_run).is_dir()

    for sql in blocks(page, "sql"):
        duckdb.sql(sql).fetchall()
    for code in blocks(page, "python"):
        exec(code, {})  # noqa: S102 - our own page


def test_the_query_lists_what_changed_since_the_last_run(workdir: Path, catalog: Path) -> None:
    """Damaged, deleted and new files are listed with both outcomes; files that did not change are not."""
    music = workdir / "music"
    shutil.copytree(catalog, music)
    verify(music)
    good = (
        "FROM 'results/verdicts/*/*.parquet' SELECT audio WHERE accepted AND mode = 'one_file' ORDER BY audio LIMIT 2"
    )
    damaged, deleted = (Path(audio) for (audio,) in duckdb.sql(good).fetchall())
    damaged.write_bytes(b"")
    deleted.rename(music / "new.wav")
    verify(music)

    query = blocks("docs/tables.md", "sql")[1].replace("/data/november.csv", str(music))

    assert sorted(duckdb.sql(query).fetchall(), key=str) == sorted(
        [
            (str(damaged), "accepted", "valid", "ineligible", "empty"),
            (str(deleted), "accepted", "valid", None, None),
            (str(music / "new.wav"), None, None, "accepted", "valid"),
        ],
        key=str,
    )


def test_types_are_the_same_in_every_file_and_reader(workdir: Path) -> None:
    """A run whose report-only columns are all null reads with the types of any other."""
    (workdir / "music").mkdir()
    (workdir / "music" / "empty.wav").touch()
    verify(workdir / "music")

    schema = SCHEMAS["verdicts"]
    dataset = ds.dataset("results/verdicts", partitioning="hive")
    frame = pd.read_parquet("results/verdicts", dtype_backend="pyarrow")

    assert dataset.schema.names == [*schema.names, "run_date"]
    assert all(dataset.schema.field(name).type == schema.field(name).type for name in schema.names)
    assert frame["grade_human"].dtype.pyarrow_dtype == schema.field("grade_human").type
    assert frame["grade_human"].isna().all()
