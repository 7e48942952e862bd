"""A root that is away, or gives other bytes, is told from files that are bad; no call is made for that."""

from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

import obstore
import pytest
from obstore.store import MemoryStore

from proofsweep.domain.errors import ResourceShortage, SourceError
from proofsweep.domain.items import Mode, WorkItem
from proofsweep.domain.outcomes import Failed, Finished
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.sources.files import Files
from proofsweep.store.known_rows import AcceptedItem, PastAnswers
from proofsweep.verify.fault import ControlFinding, Doubt, Subject
from proofsweep.verify.item import VerifyContext
from proofsweep.verify.probes import ControlCalls, KnownFiles, Result, can_be_read, gives_known_bytes

from ..conftest import WAV
from ..scripted_service import NOW, ScriptedService

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
    return can_be_read(root, items, known, files or Files())


def read_then_lost(known: KnownFiles, locations: Iterable[str]) -> None:
    for location in locations:
        known.note_read(location)
        Path(location).unlink()


def test_a_file_that_is_missing_beside_one_that_can_be_read_is_at_fault(known: KnownFiles, root: Path) -> None:
    """The root is there."""
    known.note_read(*deliver(root, "a.wav"))

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


@pytest.mark.parametrize(("lost", "expected"), [(["a.wav", "b.wav"], True), (["a.wav", "b.wav", "c.wav"], False)])
def test_three_files_that_are_gone_show_that_a_root_is_away(
    known: KnownFiles, root: Path, lost: list[str], expected: bool
) -> None:
    """Whatever stands there now; two may have been moved."""
    read_then_lost(known, deliver(root, *lost))
    deliver(root, "lost+found.txt")

    assert is_there(known, "d.wav") is expected


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


def bucket(*names: str) -> MemoryStore:
    store = MemoryStore()
    for name in names:
        obstore.put(store, name, WAV)
    return store


def accepted_files(root: Path, count: int) -> list[AcceptedItem]:
    contents = {root / f"accepted-{number}.wav": WAV + bytes([number]) for number in range(count)}
    for path, content in contents.items():
        path.write_bytes(content)
    return [
        AcceptedItem(len(content), str(path), None, sha256(content).hexdigest(), None)
        for path, content in contents.items()
    ]


def test_a_root_that_gives_what_was_accepted_gives_known_bytes(known: KnownFiles, past: KnownPast, root: Path) -> None:
    """One file is enough: others may have been replaced by new ones of the same size."""
    past.items = accepted_files(root, 4)
    for number in (0, 2, 3):
        (root / f"accepted-{number}.wav").write_bytes(bytes(len(WAV) + 1))

    assert gives_known_bytes(str(root), known, Files()) is True


@pytest.mark.parametrize("count", [0, 2])
def test_too_few_accepted_files_say_nothing(known: KnownFiles, past: KnownPast, root: Path, count: int) -> None:
    """Those of another root, of another size, and those that are gone, do not count."""
    elsewhere = root.parent / "elsewhere"
    elsewhere.mkdir()
    past.items = accepted_files(root, count) + accepted_files(elsewhere, 3)
    past.items += [AcceptedItem(7, str(root / "gone.wav"), None, "d", None)]

    assert gives_known_bytes(str(root), known, Files()) is None


@pytest.fixture
def make(verify_context: VerifyContext, known: KnownFiles) -> Callable[..., Result]:
    def make(doubt: Doubt, files: Files | None = None) -> Result:
        item = WorkItem(manifest_row=0, item_id="a", audio=f"{known.root}/missing.wav")
        failed = Failed(reason="", detail="")
        suspect = Finished(item=item, outcome=failed, started_at=NOW, finished_at=NOW)
        context = VerifyContext(partner=verify_context.partner, files=files or Files(), clock=lambda: NOW)
        trail: Any = None
        return ControlCalls(context, trail, known).make(Subject(doubt, Mode.ONE_FILE, str(known.root)), [suspect])

    return make


def test_a_source_that_cannot_be_read_or_gives_other_bytes_is_named(
    make: Callable[..., Result], past: KnownPast, root: Path, service: ScriptedService
) -> None:
    """No call is made for it; a process that is short of open files cannot look at it now."""
    away = make(Doubt.SOURCE)
    past.items = accepted_files(root, 3)
    right = [make(doubt).finding for doubt in (Doubt.SOURCE, Doubt.BYTES)]
    short = [make(doubt, ClosedFiles(SHORT)).finding for doubt in (Doubt.SOURCE, Doubt.BYTES)]
    for item in past.items:
        Path(item.audio).write_bytes(bytes(item.audio_bytes))
    other = make(Doubt.BYTES)

    assert right == [ControlFinding.RIGHT] * 2
    assert short == [ControlFinding.NOT_NOW] * 2
    assert [each.finding for each in (away, other)] == [ControlFinding.WRONG] * 2
    assert away.why.startswith(f"The source {root} cannot be read:")
    assert other.why.startswith(f"The source {root} gives other bytes")
    assert service.calls == []
