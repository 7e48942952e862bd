"""A root that is away is told from files that are gone; no call is made for that."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from proofsweep.domain.errors import ResourceShortage, SourceError
from proofsweep.domain.items import WorkItem
from proofsweep.domain.outcomes import AudioRead, Failed, Finished
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.sources.files import Files
from proofsweep.store.known_rows import AcceptedItem, PastAnswers
from proofsweep.verify.known_files import KnownFiles

from ..conftest import WAV
from ..scripted_service import NOW

MISSING = Ineligible(Reason.MISSING_AUDIO, "There is no audio.")
SHORT = ResourceShortage("Too many open files.", reason=Reason.SOURCE_UNAVAILABLE)


class KnownPast(PastAnswers):
    """What earlier legs and runs have left behind, as the test says."""

    def __init__(self) -> None:
        self.items: list[AcceptedItem] = []
        self.was_read: list[str] = []

    def accepted(self) -> list[AcceptedItem]:
        return self.items

    def files_read(self, most: int) -> list[str]:
        return self.was_read[:most]


class ClosedFiles(Files):
    """Files that cannot be opened now, and why."""

    def __init__(self, error: SourceError) -> None:
        super().__init__()
        self.error = error

    def open(self, location: str, *, is_whole: bool = False) -> None:
        del location, is_whole
        raise self.error


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "drop"
    folder.mkdir()
    return folder


@pytest.fixture
def past() -> KnownPast:
    return KnownPast()


@pytest.fixture
def known(root: Path, past: KnownPast) -> KnownFiles:
    return KnownFiles(str(root), past)


def deliver(root: Path, *names: str) -> list[str]:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(WAV)
    return [str(root / name) for name in names]


def is_there(
    known: KnownFiles, *suspects: str, ineligible: Ineligible | None = None, files: Files | None = None
) -> bool:
    """Look at the root for files that could not be read; the listing showed them, unless they are ineligible."""
    root = str(known.root)
    items = [
        WorkItem(manifest_row=row, item_id=name, audio=f"{root}/{name}", ineligible=ineligible)
        for row, name in enumerate(suspects)
    ]
    return not known.is_away(root, items, files or Files())


def read_then_lost(known: KnownFiles, locations: Iterable[str]) -> None:
    for location in locations:
        note_read(known, location)
        Path(location).unlink()


def note_read(known: KnownFiles, location: str) -> None:
    item = WorkItem(manifest_row=0, item_id="a", audio=location)
    read = AudioRead(audio_format="wav", size_bytes=8, version="v")
    failed = Failed(reason="", detail="")
    known.note(Finished(item=item, outcome=failed, started_at=NOW, finished_at=NOW, read=read))


def test_a_file_that_is_missing_beside_one_that_can_be_read_is_at_fault(known: KnownFiles, root: Path) -> None:
    """The root is there."""
    note_read(known, *deliver(root, "a.wav"))

    assert is_there(known, "b.wav")


def test_a_root_that_is_empty_is_away(known: KnownFiles) -> None:
    """It is the point of a mount, mostly; one that never held a file is taken as it is."""
    assert not is_there(known, "a.wav")
    assert is_there(known, "a.wav", ineligible=MISSING)


def test_a_root_that_lists_files_is_there(known: KnownFiles, root: Path) -> None:
    """Nothing else was read of it yet, and the suspect was deleted since the run was planned."""
    deliver(root, "sub/b.wav")

    assert is_there(known, "a.wav")
    assert is_there(known, "gone/b.wav")


@pytest.mark.parametrize(("lost", "kept", "expected"), [(2, 2, True), (3, 2, False), (1, 0, False)])
def test_a_root_that_lacks_most_of_what_was_read_is_away(
    known: KnownFiles, root: Path, *, lost: int, kept: int, expected: bool
) -> None:
    """Whatever stands there now; some may have been moved."""
    read_then_lost(known, deliver(root, *(f"lost-{number}.wav" for number in range(lost))))
    for location in deliver(root, *(f"kept-{number}.wav" for number in range(kept))):
        note_read(known, location)
    deliver(root, "lost+found.txt")

    assert is_there(known, "d.wav") is expected


def test_what_was_read_before_counts_where_a_leg_has_read_nothing_yet(
    known: KnownFiles, past: KnownPast, root: Path
) -> None:
    """A mount went between two legs, or two nights. Files that lie elsewhere say nothing."""
    past.was_read = ["/elsewhere/a.wav"]
    past.items = [AcceptedItem(8, str(root / "night.wav"), None, "d", None)]
    deliver(root, "catalog.csv")
    gone_since_last_night = is_there(known, "a.wav", ineligible=MISSING)
    past.was_read += deliver(root, "leg.wav", "other.wav")

    assert (gone_since_last_night, is_there(known, "a.wav")) == (False, True)


def test_what_was_accepted_in_a_drop_folder_was_moved_away(past: KnownPast, root: Path) -> None:
    """A file that a supplier takes back beside others is gone, and its folder is there."""
    past.items = [AcceptedItem(8, str(root / f"{number}.wav"), None, "d", None) for number in range(5)]
    deliver(root, "next.wav")

    found = [is_there(KnownFiles(str(root), past, is_emptied=emptied), "back.wav") for emptied in (False, True)]

    assert found == [False, True]


def test_a_process_that_is_short_of_open_files_cannot_look(known: KnownFiles, root: Path) -> None:
    """That says nothing of the files."""
    note_read(known, *deliver(root, "a.wav"))

    with pytest.raises(ResourceShortage):
        is_there(known, "b.wav", files=ClosedFiles(SHORT))


def test_an_empty_folder_in_the_root_is_a_mount_that_is_away(known: KnownFiles, root: Path) -> None:
    """The root lists what lies in other folders."""
    deliver(root, "here/a.wav")
    (root / "away").mkdir()

    assert not is_there(known, "away/deep/b.wav")
    assert is_there(known, "here/b.wav")


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
def test_a_root_is_the_bucket_the_catalogs_folder_or_a_mount(past: KnownPast, location: str, expected: str) -> None:
    """Mounts outside the catalog lie one or two folders deep, mostly."""
    assert KnownFiles("/in/drop", past).root_of(location) == expected
