"""A root that is away is told from files that are bad."""

import errno
import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import obstore
import pytest
from obstore.store import MemoryStore

from proofsweep.domain.errors import SourceError
from proofsweep.domain.items import WorkItem
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.sources.bucket import BucketFiles
from proofsweep.sources.files import Files
from proofsweep.store.known_rows import AcceptedItem, PastAnswers
from proofsweep.verify.probes import KnownFiles, can_be_read, gives_known_bytes

from ..conftest import WAV


class KnownPast(PastAnswers):
    """What earlier legs and runs have left behind, as the test says."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.audio: list[str] = []
        self.was_read: list[str] = []

    def accepted(self) -> list[AcceptedItem]:
        """Name what was accepted."""
        return [AcceptedItem(52, audio, None, "d", None) for audio in self.audio]

    def files_read(self, most: int) -> list[str]:
        """Name what was read."""
        return self.was_read[:most]


@dataclass
class Source:
    """The files of a leg, and which of them were read."""

    files: Files
    known: KnownFiles

    def can_be_read(self, root: str, suspects: list[WorkItem]) -> bool:
        """Look at a root."""
        return can_be_read(root, suspects, self.known, self.files)

    def gives_known_bytes(self, root: str) -> bool | None:
        """Read accepted files of a root."""
        return gives_known_bytes(root, self.known, self.files)


class ClosedFiles(Files):
    """Files that cannot be opened now.

    Attributes:
        error: why.
    """

    error = SourceError("Input/output error.", reason=Reason.SOURCE_UNAVAILABLE)

    def open(self, location: str, *, is_whole: bool = False) -> None:
        """Fail."""
        del location, is_whole
        raise self.error


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder of a catalog."""
    folder = tmp_path / "drop"
    folder.mkdir()
    return folder


@pytest.fixture
def past() -> KnownPast:
    """A past without files."""
    return KnownPast()


@pytest.fixture
def source(root: Path, past: KnownPast) -> Source:
    """The control of that folder."""
    return Source(Files(), KnownFiles(str(root), past))


def deliver(root: Path, *names: str) -> list[str]:
    """Write files; give their locations."""
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(WAV)
    return [str(root / name) for name in names]


def suspects(root: Path, *names: str, ineligible: Ineligible | None = None) -> list[WorkItem]:
    """Name files that could not be read; the listing showed them, unless they are ineligible."""
    return [
        WorkItem(manifest_row=row, item_id=name, audio=str(root / name), ineligible=ineligible)
        for row, name in enumerate(names)
    ]


def read_then_lost(source: Source, locations: Iterable[str]) -> None:
    """Read files, and delete them."""
    for location in locations:
        source.known.note_read(location)
        Path(location).unlink()


def test_a_file_that_is_missing_beside_one_that_can_be_read_is_at_fault(source: Source, root: Path) -> None:
    """The root is there."""
    for location in deliver(root, "a.wav"):
        source.known.note_read(location)

    assert source.can_be_read(str(root), suspects(root, "b.wav"))


def test_a_root_that_is_empty_is_away(source: Source, root: Path) -> None:
    """It is the point of a mount, mostly."""
    assert not source.can_be_read(str(root), suspects(root, "a.wav"))


def test_a_root_that_lists_files_is_there(source: Source, root: Path) -> None:
    """Nothing else was read of it yet, and the suspect was deleted since the run was planned."""
    deliver(root, "sub/b.wav")

    assert source.can_be_read(str(root), suspects(root, "a.wav"))


def test_a_root_that_lists_something_else_is_away(source: Source, root: Path) -> None:
    """Three files that were read are gone, whatever stands there now."""
    read_then_lost(source, deliver(root, "a.wav", "b.wav", "c.wav"))
    deliver(root, "lost+found.txt")

    assert not source.can_be_read(str(root), suspects(root, "d.wav"))


def test_two_files_that_are_gone_are_too_few_to_tell(source: Source, root: Path) -> None:
    """They may have been moved; the root lists others."""
    read_then_lost(source, deliver(root, "a.wav", "b.wav"))
    deliver(root, "c.wav")

    assert source.can_be_read(str(root), suspects(root, "d.wav"))


def test_the_last_twenty_files_are_tried(source: Source, root: Path) -> None:
    """A server that does not answer is not asked for thousands."""
    locations = deliver(root, *(f"{number}.wav" for number in range(21)))
    source.known.note_read(locations[0])
    read_then_lost(source, locations[1:])

    assert not source.can_be_read(str(root), suspects(root, "d.wav"))


def test_an_empty_folder_in_the_root_is_a_mount_that_is_away(source: Source, root: Path) -> None:
    """The root lists what lies in other folders."""
    deliver(root, "here/a.wav")
    (root / "away").mkdir()

    assert not source.can_be_read(str(root), suspects(root, "away/deep/b.wav"))
    assert source.can_be_read(str(root), suspects(root, "here/b.wav"))


def test_a_folder_in_the_root_that_is_gone_was_deleted(source: Source, root: Path) -> None:
    """The point of a mount would still be there."""
    deliver(root, "here/a.wav")

    assert source.can_be_read(str(root), suspects(root, "gone/b.wav"))


def test_a_root_that_never_held_a_file_is_taken_as_it_is(source: Source, root: Path) -> None:
    """The listing did not show the files either: the catalog names what was never there."""
    missing = Ineligible(Reason.MISSING_AUDIO, "There is no audio.")

    assert source.can_be_read(str(root), suspects(root, "a.wav", ineligible=missing))


@pytest.mark.parametrize("kind", ["earlier leg", "earlier run"])
def test_what_earlier_legs_and_runs_read_counts_too(source: Source, past: KnownPast, root: Path, kind: str) -> None:
    """Nothing was read yet in this leg: the source was away when it began."""
    locations = deliver(root, "a.wav", "b.wav", "c.wav")
    if kind == "earlier leg":
        past.was_read = locations
    else:
        past.audio = locations
    are_there = source.can_be_read(str(root), suspects(root, "d.wav"))
    for location in locations[:2]:
        Path(location).unlink()
    is_one_there = source.can_be_read(str(root), suspects(root, "d.wav"))
    Path(locations[2]).unlink()
    deliver(root, "other.txt")

    assert (are_there, is_one_there) == (True, True)
    assert not source.can_be_read(str(root), suspects(root, "d.wav"))


def test_files_of_other_roots_say_nothing(source: Source, past: KnownPast, root: Path) -> None:
    """They lie on another disk."""
    elsewhere = root.parent / "elsewhere"
    past.audio = deliver(elsewhere, "a.wav")

    assert not source.can_be_read(str(root), suspects(root, "a.wav"))


def test_a_disk_that_lists_its_files_and_gives_none_is_away(past: KnownPast, root: Path) -> None:
    """Its names are still in the cache."""
    past.audio = deliver(root, "a.wav", "b.wav", "c.wav")
    source = Source(ClosedFiles(), KnownFiles(str(root), past))

    assert not source.can_be_read(str(root), suspects(root, "d.wav"))


class BusyFiles(KnownFiles):
    """Known files during whose control other threads go on reading files."""

    def root_of(self, location: str) -> str:
        """Read another file meanwhile."""
        root = super().root_of(location)
        if root in self._read and len(self._read[root]) < 19:
            self._read[root].append(f"{root}/another.wav")
        return root


def test_files_may_be_read_while_the_root_is_looked_at(past: KnownPast, root: Path) -> None:
    """Other threads note them."""
    (location,) = deliver(root, "a.wav")
    source = Source(Files(), BusyFiles(str(root), past))
    source.known.note_read(location)
    source.known.note_read(location)

    assert source.can_be_read(str(root), suspects(root, "b.wav"))


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("s3://bucket/a/b.wav", "s3://bucket"),
        ("/in/drop/a/b.wav", "/in/drop"),
        ("/in/dropped/b.wav", "/in/dropped"),
        ("/mnt/nas/a/b/c.wav", "/mnt/nas"),
        ("/mnt/a.wav", "/mnt"),
        ("/a.wav", "/"),
    ],
)
def test_a_root_is_the_bucket_the_catalogs_folder_or_a_mount(location: str, expected: str) -> None:
    """Mounts outside the catalog lie one or two folders deep, mostly."""
    assert KnownFiles("/in/drop", KnownPast()).root_of(location) == expected


@pytest.fixture
def bucket() -> MemoryStore:
    """A bucket with one object."""
    store = MemoryStore()
    obstore.put(store, "a.wav", WAV)
    return store


def test_a_bucket_is_opened_anew_for_its_control(bucket: MemoryStore, past: KnownPast) -> None:
    """Its credentials may have been renewed."""
    opened: list[str] = []

    def open_root(root: str) -> MemoryStore:
        opened.append(root)
        return bucket

    files = Files()
    files._buckets = BucketFiles(open_root)
    source = Source(files, KnownFiles(None, past))
    source.known.note_read("s3://b/a.wav")
    source.can_be_read("s3://b", suspects(Path("x"), "y"))

    assert source.can_be_read("s3://b", suspects(Path("x"), "y"))
    assert len(opened) == 2


@pytest.mark.parametrize(("is_empty", "is_there"), [(False, True), (True, False)])
def test_a_bucket_of_which_nothing_was_read_is_there_if_it_lists_any_object(
    bucket: MemoryStore, past: KnownPast, *, is_empty: bool, is_there: bool
) -> None:
    """An object of it may be forbidden by itself."""
    files = Files()
    files._buckets = BucketFiles(lambda _root: MemoryStore() if is_empty else bucket)
    item = WorkItem(manifest_row=0, item_id="a", audio="s3://b/forbidden.wav")

    assert Source(files, KnownFiles(None, past)).can_be_read("s3://b", [item]) is is_there


def test_a_bucket_that_cannot_be_listed_is_away(past: KnownPast) -> None:
    """Nobody can say that anything is there."""

    def closed(_root: str) -> MemoryStore:
        raise SourceError(os.strerror(errno.EACCES), reason=Reason.SOURCE_FORBIDDEN)

    files = Files()
    files._buckets = BucketFiles(closed)
    item = WorkItem(manifest_row=0, item_id="a", audio="s3://b/forbidden.wav")

    assert not Source(files, KnownFiles(None, past)).can_be_read("s3://b", [item])


def accepted_files(root: Path, count: int) -> list[AcceptedItem]:
    """Write files that differ, as the service has accepted them."""
    items = []
    for number in range(count):
        path, content = root / f"accepted-{number}.wav", WAV + bytes([number])
        path.write_bytes(content)
        items.append(AcceptedItem(len(content), str(path), None, hashlib.sha256(content).hexdigest(), None))
    return items


def test_a_root_that_gives_what_was_accepted_gives_known_bytes(source: Source, root: Path) -> None:
    """One file is enough: others may have been replaced by new ones of the same size."""
    source.known._accepted += accepted_files(root, 4)
    for number in (0, 1, 3):
        (root / f"accepted-{number}.wav").write_bytes(bytes(len(WAV) + 1))

    assert source.gives_known_bytes(str(root)) is not False
    (root / "accepted-1.wav").write_bytes(WAV + bytes([1]))
    assert source.gives_known_bytes(str(root)) is True


@pytest.mark.parametrize("count", [0, 2])
def test_too_few_accepted_files_say_nothing(source: Source, root: Path, count: int) -> None:
    """Those of another root, of another size, and those that are gone, do not count."""
    source.known._accepted += accepted_files(root, count)
    elsewhere = root.parent / "elsewhere"
    elsewhere.mkdir()
    source.known._accepted += accepted_files(elsewhere, 3)
    source.known._accepted += [AcceptedItem(7, str(root / "gone.wav"), None, "d", None)]

    assert source.gives_known_bytes(str(root)) is None
