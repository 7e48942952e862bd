"""A root that is away is told from files that are gone; no call is made for that."""

from pathlib import Path

import pytest

from proofsweep.domain.errors import ResourceShortage
from proofsweep.domain.items import WorkItem
from proofsweep.domain.outcomes import AudioRead, Failed, Finished
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.sources.files import Files
from proofsweep.store.known_rows import AcceptedItem
from proofsweep.verify.probes import KnownFiles

from ..conftest import WAV
from ..scripted_service import NOW
from .conftest import ClosedFiles, KnownPast

MISSING = Ineligible(Reason.MISSING_AUDIO, "There is no audio.")


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
        if name.endswith("/"):
            (root / name).mkdir()
        else:
            (root / name).write_bytes(WAV)
    return [str(root / name) for name in names]


def is_there(known: KnownFiles, suspect: str, ineligible: Ineligible | None = None, files: Files | None = None) -> bool:
    """Look at the root for a file that could not be read; the listing showed it, unless it is ineligible."""
    item = WorkItem(manifest_row=0, item_id="a", audio=f"{known.root}/{suspect}", ineligible=ineligible)
    return not known.is_away(str(known.root), [item], files or Files())


def note_read(known: KnownFiles, location: str) -> None:
    item = WorkItem(manifest_row=0, item_id="a", audio=location)
    read = AudioRead(audio_format="wav", size_bytes=8, version="v")
    failed = Failed(reason="", detail="")
    known.note(Finished(item=item, outcome=failed, started_at=NOW, finished_at=NOW, read=read))


@pytest.mark.parametrize(
    ("there", "read", "lost", "suspect", "expected"),
    [
        # beside one that can be read, a missing file is at fault
        ("", "a.wav", "", "b.wav", True),
        # an empty root is the point of a mount, mostly
        ("", "", "", "a.wav", False),
        # nothing else was read of it yet, and the suspect was deleted since the run was planned
        ("sub/b.wav", "", "", "a.wav", True),
        ("sub/b.wav", "", "", "gone/b.wav", True),
        # most of what was read is gone, whatever stands there now; some may have been moved
        ("lost+found.txt", "a.wav b.wav", "c.wav d.wav", "e.wav", True),
        ("lost+found.txt", "a.wav b.wav", "c.wav d.wav e.wav", "f.wav", False),
        ("lost+found.txt", "", "c.wav", "d.wav", False),
        # an empty folder in the root is a mount too; the root lists what lies in other folders
        ("here/a.wav away/", "", "", "away/deep/b.wav", False),
        ("here/a.wav away/", "", "", "here/b.wav", True),
    ],
)
def test_a_root_is_there_or_away(
    known: KnownFiles, root: Path, *, there: str, read: str, lost: str, suspect: str, expected: bool
) -> None:
    """By what stands in it now, and by what was read of it."""
    for location in deliver(root, *lost.split(), *read.split()):
        note_read(known, location)
    for name in lost.split():
        (root / name).unlink()
    deliver(root, *there.split())

    assert is_there(known, suspect) is expected


def test_a_root_that_never_held_a_file_is_taken_as_it_is(known: KnownFiles) -> None:
    """The listing did not show the file either."""
    assert is_there(known, "a.wav", ineligible=MISSING)


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
        is_there(known, "b.wav", files=ClosedFiles(ResourceShortage("Short.", reason="")))


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
