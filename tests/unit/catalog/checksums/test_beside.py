"""The folders of a manifest's rows are looked into once, up to the root."""

from pathlib import Path

from proofsweep.catalog.catalog import CatalogBase, Ignored
from proofsweep.catalog.checksums.beside import ListsBeside
from proofsweep.catalog.checksums.checksums import Checksums
from proofsweep.files.files import Files


class CountedFolders(Checksums):
    """Notes each folder whose lists are read."""

    def __init__(self, root: str) -> None:
        super().__init__(CatalogBase(root), Files(), Ignored())
        self.folders: list[str] = []

    def read_folder(self, folder: str, lists: object, names: object) -> None:  # noqa: ARG002 - only counts
        """Note it."""
        self.folders.append(folder)


def test_each_folder_is_read_once_and_the_highest_first(tmp_path: Path) -> None:
    """Lists of the root name files of all folders below."""
    (tmp_path / "cd" / "1").mkdir(parents=True)
    root = str(tmp_path)
    counted = CountedFolders(root)
    beside = ListsBeside(counted, Files(), root)

    for name in ("cd/1/a.wav", "cd/1/b.wav", "cd/c.wav", "d.wav"):
        beside.read_for(f"{root}/{name}")

    assert counted.folders == [root, f"{root}/cd", f"{root}/cd/1"]


def test_above_the_root_nothing_is_read(tmp_path: Path) -> None:
    """A file elsewhere has the lists of its own folder alone; a bucket and a proof have none."""
    counted = CountedFolders(str(tmp_path / "root"))
    beside = ListsBeside(counted, Files(), str(tmp_path / "root"))

    for location in (f"{tmp_path}/a.wav", "s3://bucket/a.wav", "proof:x"):
        beside.read_for(location)

    assert counted.folders == [str(tmp_path)]
