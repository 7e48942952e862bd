"""Moving the files of a delivery: all of them, or none."""

import hashlib
import threading
from dataclasses import dataclass
from pathlib import Path

import pytest

from proofsweep.errors import SourceError
from proofsweep.files.files import Files
from proofsweep.files.moves import Moves
from proofsweep.ingest.dispose import Disposal, DisposalResult, at_once
from proofsweep.model.ingest import Disposition, PastAnswer
from proofsweep.model.items import WorkItem
from proofsweep.model.moves import FileMove, Move, MovedItem

NAMES = ["a.wav", "b.wav", "c.jpg", "d.jpg", "r.xml", "manifest.xml"]
ANSWER = PastAnswer(**dict.fromkeys(PastAnswer.__slots__))  # type: ignore[arg-type]  # what it says does not matter


@dataclass(frozen=True)
class MovedBatch:
    """A batch that moves from one folder to another."""

    root: Path
    move: Move
    disposal: Disposal

    def make(self) -> DisposalResult:
        """Make the move, or go on with it; all items have the same result, each with its own file."""
        (result,) = self.disposal.moved(self.move)
        return result

    def at(self, place: str) -> list[str]:
        """Name the files of a place in the order of the move, hidden ones too."""
        found = [path.name for path in (self.root / place).rglob("*") if path.is_file()]
        return sorted(found, key=NAMES.index)

    def take(self, name: str, place: str = "ok/B1") -> None:
        """Take a file away."""
        (self.root / place / name).unlink()


@pytest.fixture
def batch(tmp_path: Path) -> MovedBatch:
    """Six files, of which the last one says that all are there."""
    files = []
    for name in NAMES:
        source = tmp_path / "in" / "B1" / name
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_bytes(name.encode())
        sha256 = hashlib.sha256(name.encode()).hexdigest()
        files.append(FileMove(source=str(source), target=str(tmp_path / "ok" / "B1" / name), sha256=sha256))
    item = WorkItem(manifest_row=0, item_id="a", audio=files[0].source)
    moved = MovedItem(item=item, answer=ANSWER, disposition=Disposition.ACCEPTED)
    disposal = Disposal(
        moves=Moves(Files()), watched=str(tmp_path / "in"), accepted=str(tmp_path / "ok"), quarantine=None
    )
    move = Move(files=tuple(files), items=(moved,), folder=str(tmp_path / "in" / "B1"))
    return MovedBatch(tmp_path, move, disposal)


def test_all_files_of_a_batch_are_moved_and_its_folder_goes(batch: MovedBatch) -> None:
    """The watched folder itself stays."""
    result = batch.make()

    assert result == DisposalResult(Disposition.ACCEPTED, str(batch.root / "ok/B1/a.wav"))
    assert batch.at("ok") == NAMES
    assert list((batch.root / "in").iterdir()) == []


@pytest.mark.parametrize("name", NAMES)
def test_if_one_file_cannot_be_copied_no_copy_is_left(batch: MovedBatch, name: str) -> None:
    """It has changed since it was verified, or its name is taken; the message says which one."""
    (batch.root / "in/B1" / name).write_bytes(b"changed")

    result = batch.make()

    assert (result.disposition, result.is_half) == (Disposition.LEFT, False)
    assert result.detail == f"{name}: The file is not the one that was verified."
    assert (batch.at("ok"), batch.at("in")) == ([], NAMES)


def test_copies_that_were_there_before_stay(batch: MovedBatch) -> None:
    """Only what this move has copied is deleted."""
    (batch.root / "ok/B1").mkdir(parents=True)
    (batch.root / "ok/B1/a.wav").write_bytes(b"a.wav")
    (batch.root / "in/B1/r.xml").write_bytes(b"changed")
    first = FileMove(
        **{each: getattr(batch.move.files[0], each) for each in ("source", "target", "sha256")}, owns=False
    )
    move = Move(files=(first, *batch.move.files[1:]), items=batch.move.items, folder=batch.move.folder)

    batch.disposal.moved(move)

    assert batch.at("ok") == ["a.wav"]


def test_a_removal_that_fails_is_gone_on_with(batch: MovedBatch, monkeypatch: pytest.MonkeyPatch) -> None:
    """The copies stay: of some of them, nothing else is left."""
    remove, removed = Moves.remove, []

    def fail_later(moves: Moves, source: str, facts: object) -> bool:
        removed.append(source)
        if len(removed) > 2:
            raise SourceError("Denied.", reason="unreadable_file")
        return remove(moves, source, facts)  # type: ignore[arg-type]  # they are facts

    with monkeypatch.context() as moment:
        moment.setattr(Moves, "remove", fail_later)
        result = batch.make()

    assert (result.disposition, result.is_half) == (Disposition.LEFT, True)
    assert (removed[0].endswith("manifest.xml"), batch.at("ok")) == (True, NAMES)
    assert batch.make().disposition is Disposition.ACCEPTED
    assert (batch.at("in"), batch.at("ok")) == ([], NAMES)


def test_a_consumer_that_takes_files_while_the_rest_is_removed_gets_each(batch: MovedBatch) -> None:
    """A pass was killed when it had removed some: what is neither here nor there was taken."""
    batch.make()
    (batch.root / "in/B1").mkdir()
    (batch.root / "in/B1/c.jpg").write_bytes(b"c.jpg")
    batch.take("a.wav")
    batch.take("manifest.xml")

    assert batch.make().disposition is Disposition.ACCEPTED
    assert batch.at("ok") == ["b.wav", "c.jpg", "d.jpg", "r.xml"]
    assert batch.at("in") == []


def test_a_file_that_its_sender_takes_back_before_the_move_keeps_all_where_it_is(batch: MovedBatch) -> None:
    """The completion file is still there: nothing was removed yet."""
    batch.take("b.wav", "in/B1")

    assert batch.make() == DisposalResult(Disposition.LEFT, detail="b.wav: The file is no longer there.")
    assert batch.at("ok") == []


def test_a_batch_that_is_nowhere_is_gone(batch: MovedBatch) -> None:
    """There is nothing to do."""
    for name in NAMES:
        batch.take(name, "in/B1")

    assert batch.make().disposition is Disposition.GONE


def test_after_an_error_nothing_else_is_begun() -> None:
    """What was begun is ended."""
    done: list[int] = []

    def act(number: int) -> int:
        done.append(number)
        if number == 0:
            raise SourceError("Denied.", reason="unreadable_file")
        threading.Event().wait(0.1)  # so long that all others are in the queue
        return number

    with pytest.raises(SourceError, match="Denied"):
        at_once(act, range(1_000))
    assert len(done) < 1_000
    assert at_once(lambda number: number + 1, range(9)) == list(range(1, 10))
