"""The tables of a results store are read from Python."""

import gc
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from proofsweep import results
from proofsweep.domain.errors import ResultsError
from proofsweep.domain.runs import Plan
from proofsweep.store.objects import open_store
from proofsweep.store.parts import SCHEMAS, Results

from ..worlds.ended_runs import plan_of_run

FIRST, SECOND = "20261120T100000Z_aaaaaa", "20261121T100000Z_bbbbbb"


def row(run_id: str, number: int, *, publicly_trusted: bool | None = None) -> dict[str, object]:
    texts = ("item_id", "audio", "outcome", "action")
    return {
        "run_id": run_id,
        "environment": "sandbox",
        "leg": 1,
        "manifest_row": number,
        "accepted": True,
        "verify_attempts": 1,
        "calls": 2,
    } | {**dict.fromkeys(texts, "accepted"), "publicly_trusted": publicly_trusted}


def planned(run_id: str) -> Plan:
    return plan_of_run(run_id, 2, environment="sandbox", catalog="music", catalog_kind="folder")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    store = Results(open_store(str(tmp_path)))
    for run_id, day in ((FIRST, "2026-11-20"), (SECOND, "2026-11-21")):
        rows = [row(run_id, 0), row(run_id, 1, publicly_trusted=False)]
        store.write_plan(planned(run_id))
        store.create_part(f"verdicts/run_date={day}/{run_id}-00000-001.parquet", "verdicts", rows)
    return tmp_path


def test_the_latest_run_is_one_of_a_whole_catalog(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the commands take it: no pass over a watched folder, and of one environment."""
    monkeypatch.setenv("PROOFSWEEP_SERVICE__ENVIRONMENT", "beta")
    store, written = results.open_results(str(folder)), Results(open_store(str(folder)))
    delivered = replace(planned("20261122T120000Z_000aaaaaa"), catalog="/in", catalog_kind="ingest")
    written.write_plan(delivered)

    assert store.latest_run() == SECOND
    assert store.latest_run("/in") == delivered.run_id
    with pytest.raises(ResultsError, match="no such run"):
        store.latest_run("/elsewhere")

    elsewhere = replace(planned("20261123T120000Z_000aaaaaa"), environment="production")
    written.write_plan(elsewhere)
    assert store.latest_run(environment="production") == elsewhere.run_id
    with pytest.raises(ResultsError, match="the environments production, sandbox; name one of them"):
        store.latest_run()


def test_an_empty_table_has_its_whole_schema(folder: Path) -> None:
    """A query that works on full tables works on empty ones."""
    store = results.open_results(str(folder))

    assert store.exchanges().schema == SCHEMAS["exchanges"]
    assert store.runs(FIRST, ["ended_by", "run_id"]).schema.names == ["ended_by", "run_id"]
    assert store.verdicts().schema == SCHEMAS["verdicts"]


def test_pandas_keeps_null_apart_from_false(folder: Path) -> None:
    """An absent `publiclyTrusted` must not become false, and integers with nulls must not become floats."""
    frame = results.open_results(str(folder)).pandas("verdicts", run_id=FIRST)

    assert frame["publicly_trusted"].isna().tolist() == [True, False]
    assert frame["publicly_trusted"].dtype == pd.ArrowDtype(pa.bool_())
    assert frame["audio_bytes"].dtype == pd.ArrowDtype(pa.int64())


def test_one_of_several_environments_is_read_if_it_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To a call, or for all calls, in views, tables and frames alike; else it is that of the config, as of commands.

    If that is none of them, nothing is mixed, and the error says how one is named.
    """
    written = Results(open_store(str(folder)))
    elsewhere = replace(planned("20261123T120000Z_000aaaaaa"), environment="production")
    written.write_plan(elsewhere)
    rows = [row(elsewhere.run_id, 0) | {"environment": "production", "item_id": "p"}]
    written.create_part(f"verdicts/run_date=2026-11-23/{elsewhere.run_id}-00000-001.parquet", "verdicts", rows)
    store, production = (results.open_results(str(folder), name) for name in (None, "production"))

    assert production.latest_run() == elsewhere.run_id
    for asked in (production.verdicts(), production.sql("FROM verdicts").to_arrow_table()):
        assert asked["item_id"].to_pylist() == ["p"]
    assert (len(production.verdicts(FIRST)), len(production.table("verdicts", environment="all"))) == (2, 5)
    assert (store.latest_run(), len(store.sql("FROM verdicts")), len(store.verdicts())) == (SECOND, 4, 5)
    assert store.pandas("verdicts", environment="production")["item_id"].tolist() == ["p"]
    assert store.table("verdicts", columns=["item_id"], environment="production").to_pylist() == [{"item_id": "p"}]
    monkeypatch.setenv("PROOFSWEEP_SERVICE__ENVIRONMENT", "beta")
    with pytest.raises(ResultsError, match="in Python environment="):
        results.open_results(str(folder)).pandas("catalog")


def test_a_sum_is_a_whole_number(folder: Path) -> None:
    """DuckDB adds up in 128 bits, of which pandas makes a float; two columns may have one name."""
    store = results.open_results(str(folder))

    totals = store.sql("SELECT run_id, sum(calls), 1 AS run_id FROM verdicts GROUP BY ALL ORDER BY run_id").df()

    assert (str(totals["sum(calls)"].dtype), totals["sum(calls)"].tolist()) == ("int64", [4, 4])


@pytest.mark.parametrize(
    ("run_id", "columns", "words"), [("nope", None, "no run 'nope'"), (None, ["verdct"], "no column verdct")]
)
def test_an_unknown_run_or_column_is_named(
    folder: Path, run_id: str | None, columns: list[str] | None, words: str
) -> None:
    """A misspelt name does not give an empty table."""
    store = results.open_results(str(folder))

    with pytest.raises(ResultsError, match=words):
        store.verdicts(run_id, columns)


def test_an_answer_outlives_the_store_that_was_asked(folder: Path) -> None:
    """One line asks a store of which nothing else is kept."""
    answer = results.open_results(str(folder)).sql("SELECT 1 FROM verdicts UNION ALL SELECT 2")
    gc.collect()

    assert (2,) in answer.fetchall()


def test_a_misspelt_folder_is_not_an_empty_store(tmp_path: Path) -> None:
    """Opening it creates nothing."""
    with pytest.raises(ResultsError, match="There is no results store at"):
        results.open_results(str(tmp_path / "reslts"))

    assert list(tmp_path.iterdir()) == []


def test_no_row_is_missing_that_moves_into_a_part_meanwhile(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is it here twice: who reads while a leg ends has each row once."""
    store = Results(open_store(str(folder)))
    third = plan_of_run("20261122T100000Z_cccccc", 2, environment="sandbox")
    rows = [row(third.run_id, number) for number in range(2)]
    journalled = pa.Table.from_pylist(rows, schema=SCHEMAS["verdicts"])

    def unpublished(results_read: Results, table: str) -> list[pa.Table]:
        part = f"verdicts/run_date=2026-11-22/{third.run_id}-00000-001.parquet"
        assert results_read.store.read(part) is None  # it comes after the look at journals
        store.create_part(part, table, rows[:1])
        return [journalled]

    monkeypatch.setattr(results, "unpublished_of_all", unpublished)

    read = results.open_results(str(folder)).verdicts()

    own = read.filter(pc.field("run_id") == third.run_id)
    assert own["manifest_row"].to_pylist() == [0, 1]
