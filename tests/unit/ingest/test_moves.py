"""Verified files are moved by their verdicts, one by one or a delivery as a whole; none is lost or overwritten."""

import hashlib
import posixpath
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from proofsweep.domain.items import FileFacts, ManifestRow, WorkItem
from proofsweep.files.files import Files
from proofsweep.files.moving import Copy, Moves
from proofsweep.ingest.deliveries import BatchRow, DeliveredBatch
from proofsweep.ingest.disposal import Disposal, DisposalResult
from proofsweep.ingest.move import Move
from proofsweep.ingest.rules import Decision, Disposition, PastAnswer
from proofsweep.sources.ddex_delivery import Release
from proofsweep.sources.preflight import work_item_of

from .conftest import ANSWER

DIGESTS = {"audio_sha256": hashlib.sha256(b"audio").hexdigest(), "sidecar_sha256": hashlib.sha256(b"proof").hexdigest()}
VERSIONS = {"audio_version": "v", "sidecar_version": "v"}
DELIVERED = replace(ANSWER, item_id="a", audio_bytes=5, **VERSIONS, **DIGESTS)


@pytest.fixture
def disposal(tmp_path: Path) -> Disposal:
    (tmp_path / "in").mkdir(exist_ok=True)
    targets = {Disposition.ACCEPTED: str(tmp_path / "ok"), Disposition.QUARANTINED: str(tmp_path / "bad")}
    return Disposal(moves=Moves(Files()), watched=str(tmp_path / "in"), targets=targets)


@dataclass(frozen=True)
class Verified:
    item: WorkItem
    answer: PastAnswer


@pytest.fixture
def pair(tmp_path: Path, disposal: Disposal) -> Verified:
    assert disposal.targets
    audio, sidecar = tmp_path / "in" / "a.wav", tmp_path / "in" / "a.sidecar"
    audio.write_bytes(b"audio")
    sidecar.write_bytes(b"proof")
    return Verified(WorkItem(manifest_row=0, item_id="a", audio=str(audio), sidecar=str(sidecar)), DELIVERED)


def place(disposal: Disposal, file: Verified) -> DisposalResult:
    chosen = disposal.chosen(file.item, file.answer)
    return disposal.moved(chosen)[0] if isinstance(chosen, Move) else chosen


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_file_that_looks_gone_since_its_share_goes_is_removed_by_the_next_pass(
    disposal: Disposal, pair: Verified, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the sidecar stays alone, beside its copy."""
    mounted = {str(tmp_path / "in")}
    monkeypatch.setattr(posixpath, "ismount", lambda path: path == "/" or path in mounted)
    chosen = disposal.chosen(pair.item, pair.answer)
    assert isinstance(chosen, Move)
    remove = Moves.remove

    def go(moves: Moves, source: str, facts: FileFacts) -> bool:
        if source.endswith(".sidecar"):
            mounted.clear()
            (tmp_path / "in").rename(tmp_path / "share")
        return remove(moves, source, facts)

    with monkeypatch.context() as going:
        going.setattr(Moves, "remove", go)
        result = disposal.from_now_on().moved(chosen)[0]
    assert (result.disposition, result.is_half) == (Disposition.LEFT, True)
    assert files_in(tmp_path / "share") == {"a.sidecar": b"proof"}

    (tmp_path / "share").rename(tmp_path / "in")
    mounted.add(str(tmp_path / "in"))
    assert disposal.from_now_on().moved(chosen)[0].disposition is Disposition.ACCEPTED
    assert files_in(tmp_path) == {"ok/a.sidecar": b"proof", "ok/a.wav": b"audio"}


def test_a_sidecar_stays_whose_audio_was_taken_before_the_kill_was_healed(
    disposal: Disposal, pair: Verified, tmp_path: Path
) -> None:
    """Both were removed where they were delivered: its copy is the only one."""
    chosen = disposal.chosen(pair.item, pair.answer)
    assert isinstance(chosen, Move)
    disposal.moved(chosen)
    (tmp_path / "ok/a.wav").unlink()

    disposal.moved(chosen)

    assert files_in(tmp_path) == {"ok/a.sidecar": b"proof"}


@pytest.mark.parametrize("away", ["in", "ok"])
def test_nothing_is_moved_from_or_to_a_share_that_went_away_in_the_pass(
    disposal: Disposal, pair: Verified, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, away: str
) -> None:
    """No folder is made below its mount point, and no file is called gone; the next pass goes on."""
    mounted = {str(tmp_path / away)}
    monkeypatch.setattr(posixpath, "ismount", lambda path: path == "/" or path in mounted)
    chosen = disposal.chosen(pair.item, pair.answer)
    assert isinstance(chosen, Move)
    of_pass = disposal.from_now_on()
    mounted.clear()
    if away == "in":
        (tmp_path / "in").rename(tmp_path / "share")
        (tmp_path / "in").mkdir()
    before = files_in(tmp_path)

    result = of_pass.moved(chosen)[0]

    assert (result.disposition, result.is_half) == (Disposition.LEFT, True)
    assert f"{away} is away: see whether its share is mounted." in str(result.detail)
    assert (files_in(tmp_path), (tmp_path / "ok").exists()) == (before, False)


def test_a_file_of_a_watched_folder_that_vanished_is_not_gone(
    disposal: Disposal, pair: Verified, tmp_path: Path
) -> None:
    chosen = disposal.chosen(pair.item, pair.answer)
    assert isinstance(chosen, Move)
    (tmp_path / "in").rename(tmp_path / "share")

    assert disposal.moved(chosen)[0].disposition is Disposition.LEFT


def test_a_share_that_went_and_came_back_during_a_copy_loses_no_file(
    disposal: Disposal, pair: Verified, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copy lies on the disk below, where nobody finds it: so what was copied stays where it was delivered."""
    copies: list[int] = []
    copy_of = Moves.copy

    def copy(moves: Moves, *given: str) -> Copy:
        copied = copy_of(moves, *given)
        copies.append(1)
        return copied._replace(disk=-1) if len(copies) == 2 else copied

    monkeypatch.setattr(Moves, "copy", copy)
    chosen = disposal.chosen(pair.item, pair.answer)
    assert isinstance(chosen, Move)

    result = disposal.moved(chosen)[0]

    assert (result.disposition, result.is_half) == (Disposition.LEFT, True)
    assert {"in/a.wav", "in/a.sidecar"} <= set(files_in(tmp_path))
    monkeypatch.undo()
    assert disposal.moved(chosen)[0].disposition is Disposition.ACCEPTED
    assert set(files_in(tmp_path)) == {"ok/a.wav", "ok/a.sidecar"}


UNKNOWN_BYTES = "The digest of what was verified is not known."


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        ({"outcome": "failed"}, None),  # it is tried again there
        ({"outcome": "ineligible"}, None),  # it is for its sender
        ({"audio_sha256": None}, UNKNOWN_BYTES),
        ({"sidecar_sha256": None}, UNKNOWN_BYTES),
    ],
)
def test_what_has_no_verdict_or_may_be_another_file_stays(
    disposal: Disposal, pair: Verified, tmp_path: Path, changes: dict[str, str | None], detail: str | None
) -> None:
    """The row says why; each of the two targets is set by itself."""
    outside = replace(pair, item=replace(pair.item, audio="/elsewhere/a.wav"))
    unanswered = replace(pair, answer=replace(pair.answer, **changes))  # type: ignore[arg-type]  # theirs

    assert place(disposal, unanswered) == DisposalResult(Disposition.LEFT, detail=detail)
    assert place(disposal, outside) == DisposalResult(Disposition.LEFT, detail="It lies outside the watched folder.")
    assert place(replace(disposal, targets={Disposition.QUARANTINED: "/bad"}), pair) == DisposalResult(Disposition.LEFT)
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


def test_a_file_that_changed_since_is_gone(disposal: Disposal, pair: Verified, tmp_path: Path) -> None:
    """In its place is another delivery, which has no verdict yet: it stays, and so does a sidecar that was there."""
    (tmp_path / "ok").mkdir()
    (tmp_path / "ok" / "a.sidecar").write_bytes(b"proof")
    Path(pair.item.audio).write_bytes(b"the next version")

    placed = place(disposal, pair)

    assert placed.disposition is Disposition.GONE
    assert "not the one that was verified" in (placed.detail or "")
    assert files_in(tmp_path) == {"in/a.wav": b"the next version", "in/a.sidecar": b"proof", "ok/a.sidecar": b"proof"}
    Path(pair.item.audio).unlink()
    assert place(disposal, pair).disposition is Disposition.GONE


def version_of(path: Path) -> str:
    facts = Files().facts(str(path))
    assert facts is not None
    return facts.version


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
            replace(ANSWER, outcome=outcome, audio_sha256=None),
        )
        for name, outcome in {"r1/a.wav": "accepted", "r2/b.wav": "rejected"}.items()
    ]
    return DeliveredBatch(
        location=str(folder),
        completion=str(folder / "manifest.xml"),
        needs_completion=True,
        releases={str(folder / name): Release() for name in ("r1", "r2")},
        rows=rows,
        files={str(folder / name): version_of(folder / name) for name in FILES},
    )


CHANGED, TAKEN_BACK = "The file is not the one that was verified.", "The file is no longer there."


@pytest.mark.parametrize(("name", "content"), [*((name, b"changed") for name in FILES), ("r2/b.wav", None)])
def test_if_one_file_cannot_be_copied_no_copy_is_left(
    delivered: DeliveredBatch, disposal: Disposal, tmp_path: Path, name: str, content: bytes | None
) -> None:
    """It has changed since it was verified, or its sender takes it back before the move; the message says which one."""
    move, file = chosen(delivered, disposal), tmp_path / "in/B1" / name
    file.unlink()
    if content is not None:
        file.write_bytes(content)
    left, why = files_in(tmp_path), TAKEN_BACK if content is None else CHANGED

    assert disposal.moved(move) == [DisposalResult(Disposition.LEFT, detail=f"{file.name}: {why}")] * 2
    assert files_in(tmp_path) == left


def deliver_before(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Let a supplier put another file in the place of one right before this one is removed."""
    remove = Moves.remove

    def deliver_and_remove(moves: Moves, source: str, facts: FileFacts) -> bool:
        if source.endswith(name):
            Path(source).write_bytes(b"another version")
        return remove(moves, source, facts)

    monkeypatch.setattr(Moves, "remove", deliver_and_remove)


def test_audio_that_is_replaced_before_it_is_removed_has_not_moved(
    disposal: Disposal, pair: Verified, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deliver_before(monkeypatch, "/in/a.wav")

    detail = "Another file came in its place during the move."
    assert place(disposal, pair) == DisposalResult(Disposition.GONE, detail=detail)
    assert files_in(tmp_path) == {"in/a.wav": b"another version", "in/a.sidecar": b"proof"}


def test_a_batch_whose_completion_file_is_replaced_before_it_is_removed_stays_whole(
    delivered: DeliveredBatch, disposal: Disposal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deliver_before(monkeypatch, "/in/B1/manifest.xml")

    assert disposal.moved(chosen(delivered, disposal)) == [DisposalResult(Disposition.LEFT)] * 2
    assert {*files_in(tmp_path)} == {f"in/B1/{name}" for name in FILES}


def test_a_file_of_a_batch_that_is_replaced_while_the_others_are_removed_has_not_moved(
    delivered: DeliveredBatch, disposal: Disposal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deliver_before(monkeypatch, "/in/B1/r1/a.wav")

    replaced, moved = disposal.moved(chosen(delivered, disposal))

    assert (replaced.disposition, moved.disposition) == (Disposition.GONE, Disposition.QUARANTINED)
    assert (replaced.detail or "").endswith(f"What was verified lies in {tmp_path / 'bad/B1/r1/a.wav'}.")
    assert files_in(tmp_path / "in") == {"B1/r1/a.wav": b"another version"}


def test_a_batch_that_is_nowhere_is_gone(delivered: DeliveredBatch, disposal: Disposal, tmp_path: Path) -> None:
    move = chosen(delivered, disposal)
    shutil.rmtree(tmp_path / "in/B1")

    assert [result.disposition for result in disposal.moved(move)] == [Disposition.GONE] * 2


def judged(delivered: DeliveredBatch, disposal: Disposal) -> Move | DisposalResult:
    answered = [(work_item_of(each.row, "in", "sidecar"), each.answer) for each in delivered.rows if each.answer]
    return disposal.chosen_for_batch(delivered, answered)


def chosen(delivered: DeliveredBatch, disposal: Disposal) -> Move:
    move = judged(delivered, disposal)
    assert isinstance(move, Move), move
    return move


def names_of(move: Move, root: Path) -> list[str]:
    return [str(Path(file.target).relative_to(root)) for file in move.files]


def test_messages_come_before_the_completion_file(
    delivered: DeliveredBatch, disposal: Disposal, tmp_path: Path
) -> None:
    """Who sees it at the target knows that all is there."""
    names = names_of(chosen(delivered, disposal), tmp_path)

    assert names == [f"bad/B1/{name}" for name in ("r1/a.wav", "r2/b.wav", "r1/r1.xml", "r2/r2.xml", "manifest.xml")]


def test_one_taken_name_gives_all_files_others(delivered: DeliveredBatch, disposal: Disposal, tmp_path: Path) -> None:
    """So the files of a batch stay together; names with the same bytes are not ours to delete, if one fails."""
    (tmp_path / "bad/B1/r1").mkdir(parents=True)
    (tmp_path / "bad/B1/r1/a.wav").write_bytes(b"r1/a.wav")
    first = chosen(delivered, disposal)
    (tmp_path / "bad/B1/r1/r1.xml").write_bytes(b"another file")
    second = chosen(delivered, disposal)
    disposal.moved(first)

    assert files_in(tmp_path / "bad/B1") == {"r1/a.wav": b"r1/a.wav", "r1/r1.xml": b"another file"}
    assert [file.owns for file in first.files] == [False, True, True, True, True]
    folders = {name.split("/")[1] for name in names_of(second, tmp_path)}
    assert folders != {"B1"}
    assert len(folders) == 1


def test_a_batch_with_a_link_stays(delivered: DeliveredBatch, disposal: Disposal, tmp_path: Path) -> None:
    (tmp_path / "in/B1/r1/cover.jpg").symlink_to(tmp_path / "cover.jpg")
    assert judged(delivered, disposal) == DisposalResult(
        Disposition.LEFT, detail="It holds a link, and links are not moved."
    )

    (tmp_path / "in/B1/r1/cover.jpg").unlink()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "in/B1/r1/scans").symlink_to(tmp_path / "elsewhere")
    assert judged(delivered, disposal) == DisposalResult(
        Disposition.LEFT,
        detail="A folder in it is a link, and links are not moved. "
        f"It should go to {tmp_path / 'bad'} (ingest.quarantine).",
    )
