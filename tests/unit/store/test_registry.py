"""A table is one entry of the registry: schema, view, docs and searches are made of it."""

from pathlib import Path

import pytest

from proofsweep.queries.views import NAMES, views
from proofsweep.store.tables.columns import Table
from proofsweep.store.tables.registry import TABLES, written_by
from proofsweep.store.tables.schemas import SCHEMAS

DOCS = Path(__file__).parents[3] / "docs" / "tables.md"


@pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))
def test_all_that_a_table_needs_is_made_of_its_entry(table: Table) -> None:
    """A new table needs no further line anywhere: it has its schema, its view and its place in the docs."""
    (view,) = (view for view in views() if view.name == table.name)

    assert SCHEMAS[table.name].names == [column.name for column in table.columns]
    assert view.meaning == table.meaning
    assert f"store.{table.name}" in view.query
    assert f"<!-- generated: {table.name} -->" in DOCS.read_text("utf-8")


@pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))
def test_a_table_that_names_items_or_proofs_says_what_becomes_of_them(table: Table) -> None:
    """A search for a proof finds each table that names one."""
    names = {column.name for column in table.columns}

    assert ("proof_id" in names) == (table.proof_line is not None)
    assert {table.proof_time} - {None} <= names
    assert table.written_by != "operation" or "operation_id" in names


def test_tables_are_known_by_who_writes_them() -> None:
    """Legs have receipts that name parts, operations have theirs."""
    assert written_by("leg") == ("verdicts", "exchanges", "runs")
    assert written_by("operation") == ("rotations", "erasures", "proofs", "interpretations", "recoveries")
    assert NAMES[: len(TABLES)] == tuple(TABLES)
