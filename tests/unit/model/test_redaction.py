"""A redacted row keeps what counts need, and what goes is null, or text where null is not allowed."""

import pytest

from proofsweep.model.redaction import KEPT
from proofsweep.model.tables import planned_items
from proofsweep.model.tables.columns import BYTES, TEXT
from proofsweep.model.tables.registry import TABLES


@pytest.mark.parametrize(
    ("folder", "marked"),
    [
        ("verdicts", {"item_id", "audio"}),
        ("ingest", {"item_id", "audio"}),
        ("recoveries", {"proof_id", "item_id", "audio"}),
        ("proofs", {"proof_id"}),
        ("interpretations", {"proof_id"}),
        ("_runs", {"item_id", "audio"}),
    ],
)
def test_each_column_is_kept_marked_or_null(folder: str, marked: set[str]) -> None:
    """A column that is added later is null, unless somebody decides otherwise; a marker is a word."""
    columns = planned_items.COLUMNS if folder == "_runs" else TABLES[folder].columns
    gone = [column for column in columns if not column.nullable and column.name not in KEPT[folder]]

    assert {column.name for column in gone} == marked
    assert {column.kind for column in gone} <= {TEXT, BYTES}
    assert set(KEPT[folder]) <= {column.name for column in columns}


@pytest.mark.parametrize(
    "column", ["item_id", "audio", "sidecar", "relative_path", "audio_sha256", "proof_id", "song", "tags", "row_salt"]
)
def test_what_tells_of_the_item_goes(column: str) -> None:
    """Its salt too: without it nobody can try contents against the digest."""
    assert column not in KEPT["verdicts"]
