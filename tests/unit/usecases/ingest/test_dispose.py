"""Moving a verified file by its verdict."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from proofsweep.domain.ingest import Disposition
from proofsweep.storage.files.files import Files
from proofsweep.storage.files.moves import Moves
from proofsweep.usecases.ingest.dispose import Disposal, Placed, Verified


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


@pytest.fixture
def pair(tmp_path: Path, disposal: Disposal) -> Verified:
    """An accepted pair as it was delivered."""
    assert disposal.is_wanted
    audio, sidecar = tmp_path / "in" / "a.wav", tmp_path / "in" / "a.sidecar"
    audio.write_bytes(b"audio")
    sidecar.write_bytes(b"proof")
    return Verified(
        outcome="accepted",
        audio=str(audio),
        sidecar=str(sidecar),
        audio_sha256=hashlib.sha256(b"audio").hexdigest(),
        sidecar_sha256=hashlib.sha256(b"proof").hexdigest(),
    )


def files_in(folder: Path) -> dict[str, bytes]:
    """Give all files below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(("outcome", "place"), [("accepted", "ok"), ("rejected", "bad")])
def test_a_verdict_moves_both_files(
    disposal: Disposal, pair: Verified, tmp_path: Path, outcome: str, place: str
) -> None:
    """The row says where they are now."""
    placed = disposal.place(replace(pair, outcome=outcome))

    assert files_in(tmp_path) == {f"{place}/a.wav": b"audio", f"{place}/a.sidecar": b"proof"}
    assert (placed.audio, placed.sidecar) == (str(tmp_path / place / "a.wav"), str(tmp_path / place / "a.sidecar"))
    assert placed.disposition == ("accepted" if outcome == "accepted" else "quarantined")


@pytest.mark.parametrize("outcome", ["failed", "ineligible"])
def test_without_a_verdict_nothing_is_moved(disposal: Disposal, pair: Verified, tmp_path: Path, outcome: str) -> None:
    """What failed is tried again where it is."""
    assert disposal.place(replace(pair, outcome=outcome)) == Placed(Disposition.LEFT)
    assert set(files_in(tmp_path)) == {"in/a.wav", "in/a.sidecar"}


def test_a_place_that_is_not_set_leaves_its_files(disposal: Disposal, pair: Verified) -> None:
    """Each of the two places is set by itself."""
    assert replace(disposal, accepted=None).place(pair).disposition is Disposition.LEFT


def test_names_that_are_taken_are_never_overwritten(disposal: Disposal, pair: Verified, tmp_path: Path) -> None:
    """Both files then go into a folder that is named by their content; doing it again changes nothing."""
    (tmp_path / "ok").mkdir()
    (tmp_path / "ok" / "a.sidecar").write_bytes(b"other")

    placed = disposal.place(pair)

    assert placed.disposition is Disposition.ACCEPTED
    assert placed.audio is not None
    assert placed.sidecar is not None
    assert Path(placed.audio).parent == Path(placed.sidecar).parent
    assert Path(placed.audio).parent.parent == tmp_path / "ok"
    assert files_in(tmp_path / "ok")["a.sidecar"] == b"other"
    assert files_in(tmp_path / "in") == {}
    assert disposal.place(pair) == placed


def test_a_move_that_was_interrupted_is_finished(disposal: Disposal, pair: Verified, tmp_path: Path) -> None:
    """Copies are there, and one of the two originals is still there."""
    disposal.place(pair)
    Path(pair.sidecar or "").write_bytes(b"proof")

    assert disposal.place(pair).disposition is Disposition.ACCEPTED
    assert set(files_in(tmp_path)) == {"ok/a.wav", "ok/a.sidecar"}


def test_a_file_that_changed_since_is_gone(disposal: Disposal, pair: Verified, tmp_path: Path) -> None:
    """In its place is another delivery, which has no verdict yet and stays: nobody must do anything."""
    Path(pair.audio).write_bytes(b"the next version")

    placed = disposal.place(pair)

    assert placed.disposition is Disposition.GONE
    assert "not the one that was verified" in (placed.detail or "")
    assert files_in(tmp_path)["in/a.wav"] == b"the next version"


def test_a_file_that_somebody_took_is_gone(disposal: Disposal, pair: Verified) -> None:
    """That is said, and is no error."""
    Path(pair.audio).unlink()

    assert disposal.place(pair).disposition is Disposition.GONE


@pytest.mark.parametrize("change", [{"audio": "/elsewhere/a.wav"}, {"audio_sha256": None}, {"sidecar_sha256": None}])
def test_what_cannot_be_known_to_be_the_same_stays(
    disposal: Disposal, pair: Verified, change: dict[str, str | None]
) -> None:
    """The row says why."""
    placed = disposal.place(replace(pair, **change))  # type: ignore[arg-type]  # one field of its own kind

    assert placed.disposition is Disposition.LEFT
    assert placed.detail
