"""Cells name locations, as written or as they may be meant; objects are looked up in few listings."""

from collections.abc import Iterator
from pathlib import Path

import obstore
import pytest
from obstore.store import MemoryStore

from proofsweep.domain.errors import SourceError
from proofsweep.domain.items import FileFacts, Unlisted
from proofsweep.domain.reasons import Reason
from proofsweep.files.bucket_files import BucketFiles
from proofsweep.sources import file_lookup
from proofsweep.sources.catalog import CatalogBase
from proofsweep.sources.file_lookup import CellLocations, ObjectLookup, prefixes_of


def test_a_location_has_no_dots(tmp_path: Path) -> None:
    """Also after a link, where the folder above is that of its target; a key of a bucket is text."""
    (tmp_path / "lists").mkdir()
    (tmp_path / "far" / "x").mkdir(parents=True)
    (tmp_path / "lists" / "link").symlink_to(tmp_path / "far" / "x")
    cells = CellLocations(CatalogBase(str(tmp_path)), ())
    meant = {"../audio/a.wav": "audio/a.wav", "link/../a.wav": "far/a.wav", "a..b.wav": "lists/a..b.wav", "../b": "b"}
    meant["./link/Wait...wav"] = "lists/link/Wait...wav"  # the link keeps its name

    for written, name in meant.items():
        assert cells.located(written, f"{tmp_path}/lists") == (f"{tmp_path}/{name}", None)
    assert cells.located("s3://bucket/../a.wav", f"{tmp_path}/lists") == ("s3://bucket/../a.wav", None)


CELLS = CellLocations(
    CatalogBase("/drop"),
    [("D:\\Musik", "/mnt/musik"), ("d:/musik/Alba/", "s3://alba"), ("E:", "/e"), (r"\\nas\audio", "/mnt/nas/")],
)


@pytest.mark.parametrize(
    ("written", "mapped"),
    [
        (r"D:\Musik\x\a.wav", "/mnt/musik/x/a.wav"),
        ("d:/MUSIK/x/a.wav", "/mnt/musik/x/a.wav"),
        (r"D:\Musik\alba\a b.wav", "s3://alba/a b.wav"),
        (r"D:\Musik", "/mnt/musik"),
        (r"D:\Musikalien\a.wav", r"D:\Musikalien\a.wav"),
        (r"E:\Musik\a.wav", "/e/Musik/a.wav"),
        (r"F:\Musik\a.wav", r"F:\Musik\a.wav"),
        (r"\\NAS\audio\x\a.wav", "/mnt/nas/x/a.wav"),
    ],
)
def test_the_longest_beginning_that_fits_is_replaced(written: str, mapped: str) -> None:
    """In any case and with any slash, at the end of a name."""
    assert CELLS.mapped(written) == mapped


class CountedFiles(BucketFiles):
    """A bucket that counts what is asked of it, and may refuse to be listed or read."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__(lambda _root: store)
        self.listings = list[str]()
        self.looks = 0
        self.refused = frozenset[str]()

    def facts(self, location: str) -> FileFacts | None:
        self.looks += 1
        if "facts" in self.refused:
            raise SourceError("No.", reason=Reason.SOURCE_FORBIDDEN)
        return super().facts(location)

    def listed(self, location: str) -> Iterator[tuple[str, FileFacts]]:
        self.listings.append(location)
        if "listed" in self.refused:
            raise SourceError("No.", reason=Reason.SOURCE_FORBIDDEN)
        yield from super().listed(location)


@pytest.fixture
def files() -> CountedFiles:
    """A bucket with 2,000 objects in twenty folders."""
    store = MemoryStore()
    for number in range(2_000):
        obstore.put(store, f"drop/{number % 20:02}/{number:04} %.wav", b"x" * (number + 1))
    return CountedFiles(store)


def test_sizes_of_many_objects_cost_no_look_at_any(files: CountedFiles) -> None:
    """One listing for each folder that holds a row, whatever the order of the rows; what none holds is missing."""
    names = [f"drop/{number % 20:02}/{number:04} %.wav" for number in range(1999, 0, -7)]
    wanted = ObjectLookup((f"s3://b/{name}" for name in (*names, "drop/00/zz.wav", "nowhere/a.wav")), files)

    found, looked = (each.facts("s3://b/drop/19/1999 %.wav") for each in (wanted, files))
    assert isinstance(found, FileFacts)
    assert looked is not None
    assert (found, found.modified) == (looked, looked.modified)
    for name in ("drop/00/zz.wav", "nowhere/a.wav", "caf\udce9.wav"):
        assert wanted.facts(f"s3://b/{name}") is None
    assert (len(files.listings), files.looks) == (21, 1)


def test_rows_all_over_a_bucket_are_left_to_their_turn(files: CountedFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    """A listing that passes far more keys than there are rows is broken off; what it has not met is not missing."""
    monkeypatch.setattr(file_lookup, "MOST_LISTINGS", 1)
    monkeypatch.setattr(file_lookup, "_SPARE_KEYS", 0)

    wanted = ObjectLookup(["s3://b/drop/00/0000 %.wav", "s3://b/drop/19/1999 %.wav"], files)

    assert isinstance(wanted.facts("s3://b/drop/00/0000 %.wav"), FileFacts)
    assert wanted.facts("s3://b/drop/19/1999 %.wav") is Unlisted.UNLISTED


def test_who_may_read_need_not_be_allowed_to_list(files: CountedFiles) -> None:
    """Sizes are seen when the items run; one look tells that reading is allowed, else it is said before the run."""
    files.refused = frozenset({"listed"})

    wanted = ObjectLookup(["s3://b/drop/00/0000 %.wav"], files)

    assert wanted.facts("s3://b/drop/00/0000 %.wav") is Unlisted.UNLISTED
    assert files.looks == 1
    files.refused = frozenset({"listed", "facts"})
    with pytest.raises(SourceError):
        ObjectLookup(["s3://b/drop/00/0000 %.wav"], files)


@pytest.mark.parametrize(
    ("folders", "expected"),
    [
        ([], []),
        (["a", "a/b", "a/b/c", "a-b"], ["a", "a-b"]),
        (["", "a/b"], [""]),
        (["a/1", "a/2", "a/3", "a/4"], ["a"]),
        (["a/1/x", "a/1/y", "a/2/x", "a/3"], ["a"]),
        (["a", "b", "c", "d"], [""]),
    ],
)
def test_folders_are_listed_by_themselves_until_there_are_too_many(folders: list[str], expected: list[str]) -> None:
    """Then the one above them is, which may be the bucket; never one within another."""
    assert prefixes_of(folders, 3) == expected
