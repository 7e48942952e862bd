"""Verified files are moved by their verdicts, one by one or a delivery as a whole; none is lost or overwritten."""

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from proofsweep.domain.errors import SourceError
from proofsweep.domain.items import ManifestRow, WorkItem
from proofsweep.ingest.deliveries import BatchRow, DeliveredBatch
from proofsweep.ingest.moves import Disposal, DisposalResult, FileMove, Move, MovedItem, folders_of, targets_of
from proofsweep.ingest.rules import Decision, Disposition, PastAnswer
from proofsweep.sources.ddex_delivery import Release
from proofsweep.sources.files import Files
from proofsweep.sources.moves import Moves
from proofsweep.sources.preflight import SizeLimits, work_item_of

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


LEFT_WHERE_IT_IS: dict[str, tuple[dict[str, object], str | None]] = {
    "what failed is tried again there": ({"outcome": "failed"}, None),
    "and what is ineligible is for its sender": ({"outcome": "ineligible"}, None),
    "outside": ({"audio": "/elsewhere/a.wav"}, "It lies outside the watched folder."),
    "unknown bytes": ({"audio_sha256": None}, "The digest of what was verified is not known."),
    "an unknown sidecar": ({"sidecar_sha256": None}, "The digest of what was verified is not known."),
}


@pytest.mark.parametrize(("changes", "detail"), LEFT_WHERE_IT_IS.values(), ids=LEFT_WHERE_IT_IS)
def test_what_has_no_verdict_or_may_be_another_file_stays(
    disposal: Disposal, pair: Verified, tmp_path: Path, changes: dict[str, object], detail: str | None
) -> None:
    """The row says why; each of the two targets is set by itself."""
    assert place(disposal, pair.but(**changes)) == DisposalResult(Disposition.LEFT, detail=detail)
    assert place(replace(disposal, accepted=None), pair) == DisposalResult(Disposition.LEFT)
    assert set(files_in(tmp_path)) == {"in/a.wav", "in/a.sidecar"}


def test_a_pair_with_a_link_stays(disposal: Disposal, pair: Verified, tmp_path: Path) -> None:
    """A link would be copied, and could not be removed after its audio."""
    (tmp_path / "in" / "a.sidecar").rename(tmp_path / "real.sidecar")
    (tmp_path / "in" / "a.sidecar").symlink_to(tmp_path / "real.sidecar")

    detail = "It is a link, and links are not moved."
    assert place(disposal, pair) == DisposalResult(Disposition.LEFT, detail=detail)
    assert set(files_in(tmp_path)) == {"in/a.wav", "in/a.sidecar", "real.sidecar"}


@pytest.mark.parametrize("name", ["a.wav", "a.sidecar"])
def test_names_that_are_taken_are_never_overwritten(
    disposal: Disposal, pair: Verified, tmp_path: Path, name: str
) -> None:
    """Both files then go into a folder that is named by their content, for they are a pair by their names."""
    (tmp_path / "ok").mkdir()
    (tmp_path / "ok" / name).write_bytes(b"other")

    placed = place(disposal, pair)

    assert placed.disposition is Disposition.ACCEPTED
    assert sorted(path.name for path in (tmp_path / "ok").glob("*/*")) == ["a.sidecar", "a.wav"]
    assert (tmp_path / "ok" / name).read_bytes() == b"other"
    assert len(files_in(tmp_path / "ok")) == 3
    assert place(disposal, pair) == placed


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


def test_a_file_that_changed_since_is_gone(disposal: Disposal, pair: Verified, tmp_path: Path) -> None:
    """In its place is another delivery, which has no verdict yet: it stays, and so does a sidecar that was there."""
    (tmp_path / "ok").mkdir()
    (tmp_path / "ok" / "a.sidecar").write_bytes(b"proof")
    Path(pair.item.audio).write_bytes(b"the next version")

    placed = place(disposal, pair)

    assert placed.disposition is Disposition.GONE
    assert "not the one that was verified" in (placed.detail or "")
    assert files_in(tmp_path) == {
        "in/a.wav": b"the next version",
        "in/a.sidecar": b"proof",
        "ok/a.sidecar": b"proof",
    }
    Path(pair.item.audio).unlink()
    assert place(disposal, pair).disposition is Disposition.GONE


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


def test_a_batch_that_is_nowhere_is_gone(batch: MovedBatch) -> None:
    """There is nothing to do."""
    for name in NAMES:
        batch.take(name, "in/B1")

    assert batch.make().disposition is Disposition.GONE


FILES = ["manifest.xml", "r1/a.wav", "r1/r1.xml", "r2/b.wav", "r2/r2.xml"]


@pytest.fixture
def delivered(tmp_path: Path) -> DeliveredBatch:
    """A batch of two releases, of which the second is rejected."""
    folder = tmp_path / "in" / "B1"
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(name.encode())
    rows = [
        BatchRow(
            name,
            ManifestRow(number=0, audio=str(folder / name), release=str(folder / name.split("/")[0])),
            Decision.ANSWERED,
            replace(ANSWER, outcome=outcome),
        )
        for name, outcome in {"r1/a.wav": "accepted", "r2/b.wav": "rejected"}.items()
    ]
    return DeliveredBatch(
        location=str(folder),
        completion=str(folder / "manifest.xml"),
        needs_completion=True,
        releases={str(folder / name): Release(location=str(folder / name)) for name in ("r1", "r2")},
        rows=rows,
    )


def chosen(
    delivered: DeliveredBatch, root: Path, *, by_release: bool = False, **targets: str | None
) -> Move | DisposalResult:
    """Choose the names."""
    disposal = Disposal(
        moves=Moves(Files()),
        watched=str(root / "in"),
        accepted=targets.get("accepted", str(root / "ok")),
        quarantine=targets.get("quarantine", str(root / "bad")),
        by_release=by_release,
    )
    return disposal.chosen_for_batch(delivered, lambda row: work_item_of(row, "in", SizeLimits()))


def names_of(move: Move | DisposalResult, root: Path) -> list[str]:
    """Name where the files go, in their order."""
    assert isinstance(move, Move), move
    return [str(Path(file.target).relative_to(root)) for file in move.files]


def test_the_completion_file_is_the_last_and_messages_come_before_it(delivered: DeliveredBatch, tmp_path: Path) -> None:
    """Who sees it at the target knows that all is there."""
    names = names_of(chosen(delivered, tmp_path), tmp_path)

    assert names == [f"bad/B1/{name}" for name in ("r1/a.wav", "r2/b.wav", "r1/r1.xml", "r2/r2.xml", "manifest.xml")]


def test_releases_without_a_target_stay_with_the_files_of_the_batch(delivered: DeliveredBatch, tmp_path: Path) -> None:
    """What stays is still a batch that is complete."""
    move = chosen(delivered, tmp_path, by_release=True, quarantine=None)

    assert names_of(move, tmp_path) == ["ok/B1/r1/a.wav", "ok/B1/r1/r1.xml"]
    assert isinstance(move, Move)
    assert [each.disposition for each in move.items] == [Disposition.ACCEPTED]


def test_a_batch_without_a_target_stays(delivered: DeliveredBatch, tmp_path: Path) -> None:
    """That is no failure."""
    assert chosen(delivered, tmp_path, quarantine=None) == DisposalResult(Disposition.LEFT)


def test_one_name_that_is_taken_gives_all_files_other_names(delivered: DeliveredBatch, tmp_path: Path) -> None:
    """So the files of a batch stay together; names with the same bytes are not ours to delete."""
    (tmp_path / "bad/B1/r1").mkdir(parents=True)
    (tmp_path / "bad/B1/r1/a.wav").write_bytes(b"r1/a.wav")
    first = chosen(delivered, tmp_path)
    (tmp_path / "bad/B1/r1/r1.xml").write_bytes(b"another file")
    second = chosen(delivered, tmp_path)

    assert isinstance(first, Move)
    assert [file.owns for file in first.files] == [False, True, True, True, True]
    folders = {name.split("/")[1] for name in names_of(second, tmp_path)}
    assert folders != {"B1"}
    assert len(folders) == 1


def test_a_batch_with_a_link_stays(delivered: DeliveredBatch, tmp_path: Path) -> None:
    """Of a file, or of a folder in it."""
    (tmp_path / "in/B1/r1/cover.jpg").symlink_to(tmp_path / "cover.jpg")
    assert chosen(delivered, tmp_path) == DisposalResult(
        Disposition.LEFT, detail="It holds a link, and links are not moved."
    )

    (tmp_path / "in/B1/r1/cover.jpg").unlink()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "in/B1/r1/scans").symlink_to(tmp_path / "elsewhere")
    assert chosen(delivered, tmp_path) == DisposalResult(
        Disposition.LEFT, detail="A folder in it is a link, and links are not moved."
    )


def test_a_file_keeps_its_place_below_the_target_and_a_pair_its_names() -> None:
    """The second place has the digits of the content in it, for names that are taken."""
    first, second = targets_of("/in", "s3://b/ok/", "/in/acme/a.wav", "/in/acme/a.wav.sidecar", ("aa", "bb"))

    assert first == ("s3://b/ok/acme/a.wav", "s3://b/ok/acme/a.wav.sidecar")
    assert second[0].startswith("s3://b/ok/acme/")
    assert second[0].endswith("/a.wav")
    assert second[1] == f"{second[0]}.sidecar"
    assert targets_of("/in", "/ok", "/in/a.wav", None, ("aa", None))[0] == ("/ok/a.wav", None)


def test_a_batch_keeps_its_place_and_its_name_below_the_target() -> None:
    """By its name it is a batch; the watched folder itself may be one."""
    first, second = folders_of("/in", "/ok/", "/in/acme/20240607170334436", ("aa", None))

    assert first == "/ok/acme/20240607170334436"
    assert second.startswith("/ok/acme/")
    assert second.endswith("/20240607170334436")
    assert second != first
    assert folders_of("/in", "/ok", "/in", ("aa",))[0] == "/ok"
