"""The canonical bytes of a row are exactly those that docs/audit.md defines."""

import hashlib
import struct
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from proofsweep.model.tables.schemas import SCHEMAS
from proofsweep.store import row_digests as row_digests_module
from proofsweep.store.row_digests import canonical_rows, leaf_of, merkle_root, row_digests, with_merkle_root


def by_the_definition(row: dict[str, object]) -> bytes:
    """Write a row as the documentation says, with nothing but the standard library."""
    lines = [b"proofsweep row 1"]
    for name in sorted(row, key=str.encode):
        cell = row[name]
        if cell is None:
            continue
        if isinstance(cell, bool):
            text = "true" if cell else "false"
        elif isinstance(cell, datetime):
            text = str((cell - datetime(1970, 1, 1, tzinfo=UTC)) // (datetime.resolution))
        elif isinstance(cell, float):
            text = struct.pack(">d", cell).hex()
        else:
            text = str(cell)
        value = text.encode()
        lines.append(name.encode() + b":" + str(len(value)).encode() + b":" + value)
    return b"\n".join(lines)


ROWS: list[dict[str, object]] = [
    {"run_id": "r", "leg": 1, "environment": "beta", "manifest_row": 10**12, "item_id": "a\n2:x", "audio": "/c/Жé\0"},
    {"item_id": "", "accepted": False, "good": True, "grade_human": 0.1, "grade_ai": -0.0, "grade_unknown": 1e300},
    {"issued_at": datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC), "http_status": -1, "tags": '{"a": 1}'},
    {"grade_human": float("inf"), "started_at": datetime(2026, 11, 20, 1, 2, 3, 4, tzinfo=UTC)},
    {},
]


def test_rows_are_written_as_the_documentation_defines() -> None:
    """Every type, null, the empty text, line feeds and letters of any script."""
    table = pa.Table.from_pylist(ROWS, schema=SCHEMAS["verdicts"])

    assert canonical_rows(table) == [by_the_definition(row) for row in ROWS]
    assert row_digests(table)[0] == hashlib.sha256(b"\x00" + by_the_definition(ROWS[0])).digest()


def test_digests_of_many_rows_are_made_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    """They do not depend on the other rows of a portion, nor on where it begins."""
    table = pa.Table.from_pylist(ROWS, schema=SCHEMAS["verdicts"])
    whole = [leaf_of(row) for row in canonical_rows(table)]

    for rows_at_once in (1, 2, 3):
        monkeypatch.setattr(row_digests_module, "_ROWS_AT_ONCE", rows_at_once)
        assert row_digests(table) == whole
    assert row_digests(table.slice(0, 0)) == []


def test_neither_chunks_nor_order_nor_later_columns_nor_metadata_change_a_digest() -> None:
    """So an older row keeps its digest when a table gets a new column."""
    table = pa.Table.from_pylist(ROWS, schema=SCHEMAS["verdicts"])
    other = pa.concat_tables([table.slice(0, 2), table.slice(2)]).select(table.column_names[::-1])
    other = other.append_column("later", pa.nulls(len(ROWS), pa.string())).replace_schema_metadata({"a": "b"})

    assert row_digests(other) == row_digests(table)
    assert merkle_root(other) == merkle_root(table)


def test_a_cell_cannot_pass_for_another() -> None:
    """Lengths keep a text with line feeds and colons apart from two cells; null is not the empty text."""
    rows = [{"audio": "1", "song": "2"}, {"audio": "1\nsong:1:2"}, {"audio": "1", "song": ""}, {"audio": "1"}]

    assert len(set(row_digests(pa.Table.from_pylist(rows, schema=SCHEMAS["verdicts"])))) == 4


def test_a_table_without_rows_has_a_root_too() -> None:
    """And what else its metadata says stays."""
    table = with_merkle_root(SCHEMAS["verdicts"].empty_table())

    metadata = table.schema.metadata or {}
    assert metadata[b"proofsweep.merkle_root"] == hashlib.sha256().hexdigest().encode()
    assert metadata[b"proofsweep.table"] == b"verdicts"
