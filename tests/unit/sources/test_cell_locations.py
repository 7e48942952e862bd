"""A cell names a location, as it is written or as it may be meant."""

import os
from pathlib import Path

from proofsweep.sources.catalog import CatalogBase
from proofsweep.sources.cell_locations import CellLocations
from proofsweep.sources.file_lookup import FileLookup
from proofsweep.sources.files import Files


def test_a_name_in_the_manifests_own_bytes_is_found(tmp_path: Path) -> None:
    """Where the encoding is a guess, a file may have the text as its name, or the bytes."""
    folder = os.fsencode(tmp_path)
    for name in ("ä.wav".encode(), b"\xf6.wav"):
        Path(os.fsdecode(folder + b"/" + name)).write_bytes(b"abc")
    cells = CellLocations(CatalogBase(str(tmp_path)), ())
    lookup = FileLookup(Files(), str(tmp_path), list, "")

    found = [lookup.found(cells.located(cell, str(tmp_path), "cp1252")[0]) for cell in ("ä.wav", "ö.wav", "ü.wav")]
    sure = lookup.found(cells.located("ö.wav", str(tmp_path), None)[0])

    assert [os.fsencode(Path(each or "").name) for each in found] == ["ä.wav".encode(), b"\xf6.wav", "ü.wav".encode()]
    assert sure == str(tmp_path / "ö.wav")


def test_a_location_has_no_dots(tmp_path: Path) -> None:
    """Also after a link, where the folder above is that of its target; a key of a bucket is text."""
    (tmp_path / "lists").mkdir()
    (tmp_path / "far" / "x").mkdir(parents=True)
    (tmp_path / "lists" / "link").symlink_to(tmp_path / "far" / "x")
    cells = CellLocations(CatalogBase(str(tmp_path)), ())
    written = ("../audio/a.wav", "link/../a.wav", "a..b.wav", "..", "s3://bucket/../a.wav")

    found = [cells.located(cell, str(tmp_path / "lists"), None)[0][0] for cell in written]

    assert found == [
        *(f"{tmp_path}/{name}" for name in ("audio/a.wav", "far/a.wav", "lists/a..b.wav")),
        str(tmp_path),
        "s3://bucket/../a.wav",
    ]
