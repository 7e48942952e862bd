"""Moving a verified file by its verdict."""

import hashlib
import threading
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from proofsweep.domain.errors import SourceError
from proofsweep.domain.items import WorkItem
from proofsweep.ingest.moves import Disposal, DisposalResult, FileMove, Move, MovedItem, at_once
from proofsweep.ingest.rules import Disposition, PastAnswer
from proofsweep.sources.files import Files
from proofsweep.sources.moves import Moves

DIGESTS = {"audio_sha256": hashlib.sha256(b"audio").hexdigest(), "sidecar_sha256": hashlib.sha256(b"proof").hexdigest()}
VERSIONS = {"audio_version": "v", "sidecar_version": "v"}
DELIVERED = PastAnswer(
    run_id="r", leg=1, item_id="a", outcome="accepted", reason=None, audio_bytes=5, **VERSIONS, **DIGESTS
)


@pytest.fixture
def disposal(tmp_path: Path) -> Disposal:
    """Both targets, beside the watched folder."""
    (tmp_path / "in").mkdir()
    return Disposal(
        moves=Moves(Files()),
        watched=str(tmp_path / "in"),
        accepted=str(tmp_path / "ok"),
        quarantine=str(tmp_path / "bad"),
    )


@dataclass(frozen=True)
class Verified:
    """A file that has its answer."""

    item: WorkItem
    answer: PastAnswer

    def but(self, **changes: object) -> "Verified":
        """Change fields of the item or of the answer."""
        of_item = {name: value for name, value in changes.items() if name in WorkItem.__slots__}
        others = {name: value for name, value in changes.items() if name not in of_item}
        return Verified(replace(self.item, **of_item), replace(self.answer, **others))  # type: ignore[arg-type]  # theirs


@pytest.fixture
def pair(tmp_path: Path, disposal: Disposal) -> Verified:
    """An accepted pair as it was delivered."""
    assert disposal.is_wanted
    audio, sidecar = tmp_path / "in" / "a.wav", tmp_path / "in" / "a.sidecar"
    audio.write_bytes(b"audio")
    sidecar.write_bytes(b"proof")
    return Verified(WorkItem(manifest_row=0, item_id="a", audio=str(audio), sidecar=str(sidecar)), DELIVERED)


def place(disposal: Disposal, file: Verified) -> DisposalResult:
    """Choose the names, and move the file."""
    chosen = disposal.chosen(file.item, file.answer)
    return disposal.moved(chosen)[0] if isinstance(chosen, Move) else chosen


def files_in(folder: Path) -> dict[str, bytes]:
    """Return all files below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(("outcome", "folder"), [("accepted", "ok"), ("rejected", "bad")])
def test_a_verdict_moves_both_files(
    disposal: Disposal, pair: Verified, tmp_path: Path, outcome: str, folder: str
) -> None:
    """The row says where they are now."""
    placed = place(disposal, pair.but(outcome=outcome))

    assert files_in(tmp_path) == {f"{folder}/a.wav": b"audio", f"{folder}/a.sidecar": b"proof"}
    assert (placed.audio, placed.sidecar) == (str(tmp_path / folder / "a.wav"), str(tmp_path / folder / "a.sidecar"))
    assert placed.disposition == ("accepted" if outcome == "accepted" else "quarantined")


@pytest.mark.parametrize("outcome", ["failed", "ineligible"])
def test_without_a_verdict_nothing_is_moved(disposal: Disposal, pair: Verified, tmp_path: Path, outcome: str) -> None:
    """What failed is tried again where it is."""
    assert place(disposal, pair.but(outcome=outcome)) == DisposalResult(Disposition.LEFT)
    assert set(files_in(tmp_path)) == {"in/a.wav", "in/a.sidecar"}


def test_a_place_that_is_not_set_leaves_its_files(disposal: Disposal, pair: Verified) -> None:
    """Each of the two places is set by itself."""
    assert place(replace(disposal, accepted=None), pair).disposition is Disposition.LEFT


def test_names_that_are_taken_are_never_overwritten(disposal: Disposal, pair: Verified, tmp_path: Path) -> None:
    """Both files then go into a folder that is named by their content; doing it again changes nothing."""
    (tmp_path / "ok").mkdir()
    (tmp_path / "ok" / "a.sidecar").write_bytes(b"other")

    placed = place(disposal, pair)

    assert placed.disposition is Disposition.ACCEPTED
    assert placed.audio is not None
    assert placed.sidecar is not None
    assert Path(placed.audio).parent == Path(placed.sidecar).parent
    assert Path(placed.audio).parent.parent == tmp_path / "ok"
    assert files_in(tmp_path / "ok")["a.sidecar"] == b"other"
    assert files_in(tmp_path / "in") == {}
    assert place(disposal, pair) == placed


@pytest.mark.parametrize("name", ["a.wav", "a.sidecar"])
def test_all_names_are_chosen_before_anything_is_copied(
    disposal: Disposal, pair: Verified, tmp_path: Path, name: str
) -> None:
    """Else the sidecar would lie beside another file, and the next sweep would take the two for a pair."""
    (tmp_path / "ok").mkdir()
    (tmp_path / "ok" / name).write_bytes(b"other")

    place(disposal, pair)

    assert sorted(path.name for path in (tmp_path / "ok").iterdir() if path.is_file()) == [name]
    assert sorted(path.name for path in (tmp_path / "ok").glob("*/*")) == ["a.sidecar", "a.wav"]


def test_a_name_that_is_taken_in_that_moment_leaves_no_copy(disposal: Disposal, pair: Verified, tmp_path: Path) -> None:
    """The file is moved by the next pass, under other names."""
    chosen = disposal.chosen(pair.item, pair.answer)
    assert isinstance(chosen, Move)
    (tmp_path / "ok").mkdir()
    (tmp_path / "ok" / "a.wav").write_bytes(b"other")

    (placed,) = disposal.moved(chosen)

    assert (placed.disposition, placed.is_half) == (Disposition.LEFT, False)
    assert set(files_in(tmp_path)) == {"in/a.wav", "in/a.sidecar", "ok/a.wav"}
    assert place(disposal, pair).disposition is Disposition.ACCEPTED


def test_a_sidecar_that_was_there_before_stays(disposal: Disposal, pair: Verified, tmp_path: Path) -> None:
    """A consumer took its audio; a move that cannot be made deletes only what it has copied."""
    (tmp_path / "ok").mkdir()
    (tmp_path / "ok" / "a.sidecar").write_bytes(b"proof")
    Path(pair.item.audio).write_bytes(b"the next version")

    assert place(disposal, pair).disposition is Disposition.GONE
    assert files_in(tmp_path / "ok") == {"a.sidecar": b"proof"}


def test_a_pair_with_a_link_stays(disposal: Disposal, pair: Verified, tmp_path: Path) -> None:
    """A link would be copied, and could not be removed after its audio."""
    (tmp_path / "in" / "a.sidecar").rename(tmp_path / "real.sidecar")
    (tmp_path / "in" / "a.sidecar").symlink_to(tmp_path / "real.sidecar")

    placed = place(disposal, pair)

    assert (placed.disposition, placed.detail) == (Disposition.LEFT, "It is a link, and links are not moved.")
    assert set(files_in(tmp_path)) == {"in/a.wav", "in/a.sidecar", "real.sidecar"}


def test_a_copy_that_a_consumer_takes_at_once_was_made(
    disposal: Disposal, pair: Verified, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not copied once more to another name."""
    digest = Moves.digest

    def take(moves: Moves, location: str) -> str | None:
        if (tmp_path / "ok" / "a.wav").exists():
            (tmp_path / "ok" / "a.wav").unlink()
        return digest(moves, location)

    monkeypatch.setattr(Moves, "digest", take)

    assert place(disposal, pair).disposition is Disposition.ACCEPTED
    assert set(files_in(tmp_path)) == {"ok/a.sidecar"}


def test_a_move_that_was_interrupted_is_finished(disposal: Disposal, pair: Verified, tmp_path: Path) -> None:
    """Copies are there, and one of the two originals is still there."""
    place(disposal, pair)
    Path(pair.item.sidecar or "").write_bytes(b"proof")

    assert place(disposal, pair).disposition is Disposition.ACCEPTED
    assert set(files_in(tmp_path)) == {"ok/a.wav", "ok/a.sidecar"}


def test_a_file_that_changed_since_is_gone(disposal: Disposal, pair: Verified, tmp_path: Path) -> None:
    """In its place is another delivery, which has no verdict yet and stays: nobody must do anything."""
    Path(pair.item.audio).write_bytes(b"the next version")

    placed = place(disposal, pair)

    assert placed.disposition is Disposition.GONE
    assert "not the one that was verified" in (placed.detail or "")
    assert files_in(tmp_path) == {"in/a.wav": b"the next version", "in/a.sidecar": b"proof"}


def test_a_file_that_somebody_took_is_gone(disposal: Disposal, pair: Verified) -> None:
    """That is said, and is no error."""
    Path(pair.item.audio).unlink()

    assert place(disposal, pair).disposition is Disposition.GONE


@pytest.mark.parametrize("change", [{"audio": "/elsewhere/a.wav"}, {"audio_sha256": None}, {"sidecar_sha256": None}])
def test_what_cannot_be_known_to_be_the_same_stays(
    disposal: Disposal, pair: Verified, change: dict[str, str | None]
) -> None:
    """The row says why."""
    placed = place(disposal, pair.but(**change))

    assert placed.disposition is Disposition.LEFT
    assert placed.detail


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
