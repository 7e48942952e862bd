"""A cell names a location, as it is written or as it may be meant."""

import os
from pathlib import Path

from proofsweep.catalog.cell_locations import CellLocations
from proofsweep.files.files import Files


def test_a_name_in_the_manifests_own_bytes_is_found(tmp_path: Path) -> None:
    """Where the encoding is a guess, a file may have the text as its name, or the bytes."""
    folder = os.fsencode(tmp_path)
    for name in ("ä.wav".encode(), b"\xf6.wav"):
        Path(os.fsdecode(folder + b"/" + name)).write_bytes(b"abc")
    cells = CellLocations(Files(), str(tmp_path), ())

    found = [cells.located(cell, str(tmp_path), "cp1252")[0] for cell in ("ä.wav", "ö.wav", "ü.wav")]
    sure, _ = cells.located("ö.wav", str(tmp_path), None)

    assert [os.fsencode(Path(each or "").name) for each in found] == ["ä.wav".encode(), b"\xf6.wav", "ü.wav".encode()]
    assert sure == str(tmp_path / "ö.wav")


def test_an_empty_cell_and_a_proof_are_no_paths(tmp_path: Path) -> None:
    """A proof is named by its ID; what is wrong with a cell is said."""
    cells = CellLocations(Files(), str(tmp_path), ())

    assert cells.located(None, "/x", None) == (None, None)
    assert cells.located("proof:p-1", "/x", "cp1252") == ("proof:p-1", None)
    assert cells.located("ftp://x/ä.wav", "/x", "cp1252")[1] is not None


def test_a_hint_says_what_may_be_wrong(tmp_path: Path) -> None:
    """Nothing is said of a name that looks right."""
    cells = CellLocations(Files(), str(tmp_path), ())

    assert "give --path-map" in cells.hint("D:\\a.wav")
    assert "begins or ends with a space" in cells.hint("a.wav ")
    assert cells.hint("a.wav") == ""
