"""A folder below the root may be the supplier of its files."""

from pathlib import Path

from proofsweep.catalog.open_catalog import open_catalog
from proofsweep.model.reading import Reading


def test_the_first_folder_below_the_root_is_the_supplier(tmp_path: Path) -> None:
    """Its tag is known, so that conditions may name it; the digest is that of the files."""
    (tmp_path / "Alba").mkdir()
    for name in ("a.wav", "Alba/b.wav"):
        (tmp_path / name).write_bytes(b"abc")

    plain, tagged = (
        open_catalog(str(tmp_path), sidecar_names=(), reading=Reading(supplier_from=number)) for number in (None, 1)
    )

    assert [dict(row.tags) for row in tagged.rows()] == [{}, {"supplier": "Alba"}]
    assert (plain.tag_names(), tagged.tag_names()) == ([], ["supplier"])
    assert plain.digest() == tagged.digest()
