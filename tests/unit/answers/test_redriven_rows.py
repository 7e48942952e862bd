"""Rows of earlier runs are a catalog of their own."""

from pathlib import Path

from proofsweep.answers.redriven_rows import RedrivenRows
from proofsweep.catalog.open_catalog import open_catalog
from proofsweep.model.runs import PARTIAL_KINDS


def test_the_rows_bear_the_name_of_their_catalog(tmp_path: Path) -> None:
    """The run is one of the catalog, but says nothing of the rest of it."""
    (tmp_path / "rows.csv").write_text("audio,id\n/c/a.wav,7\n")
    rows = open_catalog(str(tmp_path / "rows.csv"), sidecar_names=(), root="/", name="c")

    redriven = RedrivenRows(rows, "/c/catalog.csv")

    assert [(row.number, row.item_id, row.audio) for row in redriven.rows()] == [(0, "7", "/c/a.wav")]
    assert (redriven.location, redriven.root, redriven.name) == ("/c/catalog.csv", "/", "c")
    assert redriven.kind in PARTIAL_KINDS
    assert redriven.digest() == rows.digest()
