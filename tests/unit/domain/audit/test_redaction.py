"""A redacted row keeps what counts need, and a marker where null is not allowed."""

import pytest

from proofsweep.domain.audit.redaction import is_kept, markers_of
from proofsweep.domain.tables import ingest, interpretations, planned_items, proofs, recoveries, verdicts


@pytest.mark.parametrize(
    ("folder", "columns", "markers"),
    [
        ("verdicts", verdicts.COLUMNS, {"item_id": "redacted", "audio": "redacted"}),
        ("ingest", ingest.COLUMNS, {"item_id": "redacted", "audio": "redacted"}),
        ("recoveries", recoveries.COLUMNS, dict.fromkeys(("proof_id", "item_id", "audio"), "redacted")),
        ("proofs", proofs.COLUMNS, {"proof_id": "redacted"}),
        ("interpretations", interpretations.COLUMNS, {"proof_id": "redacted"}),
        ("_runs", planned_items.COLUMNS, {"item_id": "redacted", "audio": b"redacted"}),
    ],
)
def test_each_column_is_kept_marked_or_null(
    folder: str, columns: tuple[verdicts.Column, ...], markers: dict[str, object]
) -> None:
    """A column that is added later is null, unless somebody decides otherwise."""
    assert markers_of(folder) == markers
    assert all(column.nullable or column.name in markers or is_kept(folder, column.name) for column in columns)


@pytest.mark.parametrize(
    "column", ["item_id", "audio", "sidecar", "relative_path", "audio_sha256", "proof_id", "song", "tags", "row_salt"]
)
def test_what_tells_of_the_item_goes(column: str) -> None:
    """Its salt too: without it nobody can try contents against the digest."""
    assert not is_kept("verdicts", column)
