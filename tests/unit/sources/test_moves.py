"""Copying one file to a free name, reading it back, and removing it."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

import pytest

from proofsweep.domain.errors import NameTaken, SourceError
from proofsweep.sources.files import Files
from proofsweep.sources.moves import LocalMoves, Moves

SHA256 = hashlib.sha256(b"audio").hexdigest()


@pytest.fixture
def moves() -> Moves:
    """Moves on this machine."""
    return Moves(Files())


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A delivered file."""
    path = tmp_path / "in" / "a.wav"
    path.parent.mkdir()
    path.write_bytes(b"audio")
    return path


def test_a_copied_file_can_be_removed(moves: Moves, source: Path, tmp_path: Path) -> None:
    """The copy has the bytes, and the facts are those of the source."""
    target = tmp_path / "ok" / "a.wav"

    facts = moves.copy(str(source), str(target), SHA256)

    assert facts is not None
    assert moves.remove(str(source), facts)
    assert (source.exists(), target.read_bytes()) == (False, b"audio")


def test_a_copy_that_is_there_counts(moves: Moves, source: Path, tmp_path: Path) -> None:
    """A process that was killed between copy and removal has left it; the source may be gone or be another one."""
    target = tmp_path / "a.wav"
    target.write_bytes(b"audio")

    assert moves.copy(str(source), str(target), SHA256) is not None
    source.write_bytes(b"the next version")
    assert moves.copy(str(source), str(target), SHA256) is None
    source.unlink()
    assert moves.copy(str(source), str(target), SHA256) is None


def test_another_file_of_that_name_is_told(moves: Moves, source: Path, tmp_path: Path) -> None:
    """It is not touched."""
    target = tmp_path / "a.wav"
    target.write_bytes(b"other")

    with pytest.raises(NameTaken):
        moves.copy(str(source), str(target), SHA256)

    assert target.read_bytes() == b"other"


def test_a_source_that_is_not_what_was_verified_is_not_copied(moves: Moves, source: Path, tmp_path: Path) -> None:
    """Neither is one that is gone."""
    source.write_bytes(b"changed")
    with pytest.raises(SourceError, match="not the one that was verified"):
        moves.copy(str(source), str(tmp_path / "a.wav"), SHA256)

    source.unlink()
    with pytest.raises(SourceError, match="no longer there"):
        moves.copy(str(source), str(tmp_path / "a.wav"), SHA256)

    assert not (tmp_path / "a.wav").exists()


def test_only_a_copy_is_discarded(moves: Moves, source: Path) -> None:
    """A file with other bytes stays; one that is gone is gone."""
    moves.discard(str(source), hashlib.sha256(b"other").hexdigest())
    assert source.exists()

    moves.discard(str(source), SHA256)
    moves.discard(str(source), SHA256)

    assert list(source.parent.iterdir()) == []


class EagerConsumer(LocalMoves):
    """Somebody takes each file from the target the moment that it is there."""

    def create(self, location: str, pieces: Iterable[bytes], sha256: str) -> None:
        """Make the file; it is taken at once."""
        super().create(location, pieces, sha256)
        Path(location).unlink()


def test_a_copy_that_is_taken_at_once_counts(source: Path, tmp_path: Path) -> None:
    """A consumer has it, so it must not be copied a second time under another name."""
    moves = Moves(Files())
    moves._local = EagerConsumer()

    facts = moves.copy(str(source), str(tmp_path / "ok" / "a.wav"), SHA256)

    assert facts is not None
    assert moves.remove(str(source), facts)


def test_all_files_of_a_folder_are_named_but_hidden_ones(moves: Moves, source: Path, tmp_path: Path) -> None:
    """Links to files are among them; a link to a folder is an error, since its files lie elsewhere."""
    (source.parent / ".hidden").write_bytes(b"")
    (source.parent / "link.jpg").symlink_to(tmp_path / "nowhere")
    (source.parent / "below").mkdir()
    (source.parent / "below" / "b.wav").write_bytes(b"")

    names = [str(Path(file).relative_to(source.parent)) for file in moves.files_below(str(source.parent))]

    assert names == ["a.wav", "link.jpg", "below/b.wav"]
    (tmp_path / "elsewhere").mkdir()
    (source.parent / "linked").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SourceError, match="links are not moved"):
        moves.files_below(str(source.parent))


def test_only_empty_folders_are_removed(moves: Moves, source: Path, tmp_path: Path) -> None:
    """What holds a file stays, with the folders above it."""
    (source.parent / "empty" / "empty").mkdir(parents=True)

    moves.remove_empty(str(source.parent))
    assert sorted(tmp_path.rglob("*")) == [source.parent, source]

    source.unlink()
    moves.remove_empty(str(source.parent))
    assert list(tmp_path.iterdir()) == []
