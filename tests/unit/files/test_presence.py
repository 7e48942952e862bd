"""A file is missing if its folder, or the nearest one above it, is there and holds something; else that one is away."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import obstore
import pytest
from obstore.store import MemoryStore

from proofsweep.domain.errors import ResourceShortage
from proofsweep.files import presence
from proofsweep.files.bucket_files import BucketFiles
from proofsweep.files.files import Files
from proofsweep.files.mounts import Mounts, mounts_below
from proofsweep.files.presence import Presence, away_now, folder_of

from ...worlds.command_world import mounted_disk, unmount
from ..conftest import WAV


@dataclass
class Library:
    """A catalog's root, and what is known of it."""

    root: Path
    read_before: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.root.mkdir()
        self.presence = Presence(Files(), str(self.root), lambda: self.read_before)

    def deliver(self, *names: str) -> list[str]:
        for name in names:
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).mkdir() if name.endswith("/") else (self.root / name).write_bytes(WAV)
        return [str(self.root / name) for name in names]

    def read(self, *names: str) -> None:
        for location in self.deliver(*names):
            self.presence.note_read(location)

    def away(self, file: str) -> str | None:
        """Return which folder is away, as seen from the root, if a file cannot be read."""
        found = self.presence.away(folder_of(str(self.root / file)))
        return None if found is None else os.path.relpath(found.folder, self.root)


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path / "music")


@contextmanager
def unlisted(monkeypatch: pytest.MonkeyPatch, number: int, folder: Path) -> Iterator[None]:
    """Let a folder, and all below it, be listed with an error."""
    scandir = os.scandir

    def refuse(path: str) -> Any:  # noqa: ANN401 - an iterator with a `close`
        if Path(path) == folder or folder in Path(path).parents:
            raise OSError(number, os.strerror(number))
        return scandir(path)

    with monkeypatch.context() as moment:
        moment.setattr(presence.os, "scandir", refuse)
        yield


@pytest.mark.parametrize(
    ("there", "file", "expected"),
    [
        ("label/b.wav", "label/a.wav", None),
        ("label/notes.txt", "label/a.wav", None),
        # an album was deleted, and others are there
        ("label/other/b.wav", "label/album/a.wav", None),
        ("other/b.wav", "label/album/disc/a.wav", None),
        # an empty folder mostly is the point of a mount: of the whole, of one label, or of an album
        ("", "a.wav", "."),
        ("", "label/a.wav", "."),
        ("other/b.wav label/", "label/a.wav", "label"),
        ("other/b.wav label/", "label/album/disc/a.wav", "label"),
        ("label/b.wav label/album/", "label/album/a.wav", "label/album"),
        ("label/b.wav label/album/", "label/a.wav", None),
        # a file stands in a folder's place
        ("label", "label/a.wav", None),
    ],
)
def test_a_folder_is_there_or_away(library: Library, there: str, file: str, expected: str | None) -> None:
    """Also before any file was read."""
    library.deliver(*there.split())

    assert library.away(file) == expected


@pytest.mark.parametrize("number", [errno.EIO, errno.ESTALE, errno.ENOTCONN, errno.EACCES])
@pytest.mark.parametrize("is_read", [True, False])
def test_a_folder_that_cannot_be_listed_is_away(
    library: Library, monkeypatch: pytest.MonkeyPatch, number: int, *, is_read: bool
) -> None:
    library.read("other/b.wav")
    library.read("label/a.wav") if is_read else library.deliver("label/a.wav")

    with unlisted(monkeypatch, number, library.root / "label"):
        found = [library.away(file) for file in ("label/c.wav", "label/album/c.wav", "other/d.wav")]

    assert found == ["label", "label", None]


def test_a_process_that_can_open_no_folder_cannot_say(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    library.deliver("label/a.wav")

    with unlisted(monkeypatch, errno.EMFILE, library.root), pytest.raises(ResourceShortage):
        library.away("label/b.wav")


@pytest.mark.parametrize("is_there", [True, False])
def test_another_disk_in_the_place_of_a_folder_is_no_evidence(
    library: Library, monkeypatch: pytest.MonkeyPatch, *, is_there: bool
) -> None:
    """The folder below a mount may hold a file; where mount points come and go, the folder above it is there."""
    disks = {library.root / "label": 7, library.root / "label/album": 7}
    monkeypatch.setattr(presence, "disk_of", lambda folder: disks.get(Path(folder), 1))
    library.read("label/album/a.wav", *(f"other/{number}.wav" for number in range(3)))
    before = library.away("label/album/b.wav")
    (library.root / "label/album/a.wav").unlink()
    (library.root / "label/album").rmdir()
    (library.root / "label").rmdir()
    disks.clear()
    if is_there:
        library.deliver("label/README")

    assert (before, library.away("label/album/b.wav"), library.away("other/9.wav")) == (None, "label", None)


@pytest.mark.parametrize(("left", "expected"), [(2, None), (1, ".")])
def test_a_root_that_lacks_most_of_what_was_read_is_away(library: Library, left: int, expected: str | None) -> None:
    """In this leg, or before it; a mount point need not be empty. Files elsewhere say nothing."""
    found = []
    names = ["a.wav", "b.wav", "c.wav", "d.wav"]
    for is_before in (False, True):
        library.read_before = ["/elsewhere/a.wav", *library.deliver(*names)] if is_before else []
        library.presence = Presence(Files(), str(library.root), lambda: library.read_before)
        if not is_before:
            library.read(*names)
        for name in names[left:]:
            (library.root / name).unlink()
        library.deliver("notes.txt")
        found.append(library.away("e.wav"))

    assert found == [expected, expected]


def test_where_passes_move_files_away_an_empty_folder_is_normal(library: Library) -> None:
    """But the watched folder itself may be the point of a mount: then the store knows whether a share was there."""
    answers = iter([False, True])
    library.presence.is_emptied = lambda _folder: next(answers)
    library.deliver("label/", "next.wav")
    found = [library.away("label/back.wav")]
    (library.root / "next.wav").unlink()
    found.append(library.away("label/back.wav"))
    (library.root / "label").rmdir()
    found += [library.away("label/back.wav"), library.away("label/back.wav")]

    assert found == [None, None, ".", None]


def test_a_catalog_whose_root_is_gone_is_away(library: Library) -> None:
    """Nothing of the folder above it belongs to the catalog."""
    library.root.rmdir()
    library.root.with_name("other").mkdir()

    assert (library.away("a.wav"), library.away("label/a.wav")) == (".", ".")


def test_a_link_to_a_share_that_is_away_tells_of_the_share(library: Library, tmp_path: Path) -> None:
    """The folder of the link is there, and says nothing; the link is named as the catalog names it."""
    (tmp_path / "mnt").mkdir()
    (library.root / "label").symlink_to(tmp_path / "mnt/share")
    library.deliver("other/b.wav")

    assert library.away("label/album/a.wav") == "label"


def test_each_folder_is_listed_once_for_all_its_files(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    listed: list[str] = []
    scandir = os.scandir
    library.deliver("label/b.wav", "other/c.wav")

    with monkeypatch.context() as moment:
        moment.setattr(presence.os, "scandir", lambda path: listed.append(path) or scandir(path))
        library.presence.away_among([str(library.root / "label"), str(library.root / "other")])

    assert listed == [str(library.root / "label"), str(library.root / "other")]


@pytest.fixture
def bucket() -> MemoryStore:
    return MemoryStore()


@pytest.mark.parametrize(
    ("keys", "expected"),
    [(["label/b.wav"], None), (["other/b.wav"], None), ([], "s3://music")],
)
def test_a_bucket_is_there_or_away_as_a_whole(bucket: MemoryStore, keys: list[str], expected: str | None) -> None:
    """A prefix that lists nothing was emptied."""
    for key in keys:
        obstore.put(bucket, key, WAV)
    files = Files(buckets=BucketFiles(lambda _root: bucket))

    found = away_now(folder_of("s3://music/label/a.wav"), files)

    assert (found and found.folder) == expected


def test_a_bucket_that_cannot_be_listed_is_away_unless_an_object_was_read(bucket: MemoryStore) -> None:
    """Who may read objects may not always list them."""
    obstore.put(bucket, "label/b.wav", WAV)
    may_be_opened = True

    def open_bucket(_root: str) -> MemoryStore:
        if not may_be_opened:
            raise PermissionError
        return bucket

    files = Files(buckets=BucketFiles(open_bucket))
    known = Presence(files)
    known.note_read("s3://music/label/b.wav")

    def known_away() -> bool:
        return known.away("s3://music") is not None

    found = [known_away()]
    may_be_opened = False
    found += [known_away(), away_now("s3://music", files) is not None]

    assert found == [False, True, True]


def test_mounts_below_a_folder_are_found_and_missed(tmp_path: Path) -> None:
    """Also one with a blank in its name; it is missed as soon as it goes."""
    with mounted_disk(tmp_path / "acme music") as place:
        seen = Mounts.now([str(tmp_path)])
        assert seen.below == [str(place)]
        assert not seen.is_changed(str(tmp_path))
        unmount(place)
        assert seen.is_changed(str(tmp_path))
    assert mounts_below("s3://bucket/in") == []
