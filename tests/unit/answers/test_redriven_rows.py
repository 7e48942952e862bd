"""Rows of earlier runs are a catalog of their own."""

from pathlib import Path

from proofsweep.answers.redriven_rows import RedrivenRows
from proofsweep.catalog.open_catalog import open_catalog
from proofsweep.files.files import Files
from proofsweep.model.declared import Declared
from proofsweep.model.items import WorkItem
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


def test_a_file_that_is_still_the_planned_one_has_what_was_declared_of_it(tmp_path: Path) -> None:
    """One that was delivered again has another digest; a list that lies beside it now goes first."""
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.wav").write_bytes(b"RIFF")
    (tmp_path / "c.wav.md5").write_text("1" * 32)
    (tmp_path / "rows.csv").write_text("audio,id\na.wav,a\nb.wav,b\nc.wav,c\n")
    rows = open_catalog(str(tmp_path / "rows.csv"), sidecar_names=())
    declared = Declared(size_bytes=4, digests={"md5": "0" * 32})
    planned = {
        name: WorkItem(manifest_row=0, item_id=name, audio=f"{name}.wav", audio_version=version, declared=declared)
        for name in ("a", "b", "c")
        if (facts := Files().facts(str(tmp_path / f"{name}.wav"))) is not None
        and (version := "older" if name == "b" else facts.version)
    }

    redriven = {row.item_id: row.declared for row in RedrivenRows(rows, "/c/catalog.csv", planned).rows()}

    assert redriven == {"a": declared, "b": None, "c": Declared(size_bytes=4, digests={"md5": "1" * 32})}
