"""A part of a catalog bears the name of the whole."""

from pathlib import Path

from proofsweep.catalog.catalog import PartOfCatalog
from proofsweep.catalog.open_catalog import open_catalog


def test_a_part_is_of_its_catalog_in_all_but_its_rows(tmp_path: Path) -> None:
    """By default it has all of these too."""
    (tmp_path / "a.wav").write_bytes(b"RIFF")
    (tmp_path / "m.csv").write_text("audio,supplier\na.wav,acme\n")
    whole = open_catalog(str(tmp_path / "m.csv"), sidecar_names=())

    part = PartOfCatalog(whole)

    assert (part.name, part.location, part.kind, part.root) == (whole.name, whole.location, whole.kind, whole.root)
    assert (list(part.rows()), part.digest(), part.skipped) == (list(whole.rows()), whole.digest(), 0)
    assert part.tag_names() == ["supplier"]
