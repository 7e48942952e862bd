"""A file is copied to a free name and read back, and only what was looked at is removed."""

from pathlib import Path

import pytest

from proofsweep.domain.errors import SourceError
from proofsweep.domain.items import FileFacts
from proofsweep.sources.files import Files
from proofsweep.sources.moves import Moves


@pytest.fixture
def moves() -> Moves:
    return Moves(Files())


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in" / "a.wav"
    path.parent.mkdir()
    path.write_bytes(b"audio")
    return path


def facts_of(path: Path) -> FileFacts:
    facts = Files().facts(str(path))
    assert facts is not None
    return facts


def below(folder: Path) -> dict[str, bytes]:
    """Return all files below a folder, hidden ones too."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_only_the_file_that_was_looked_at_is_removed(moves: Moves, source: Path) -> None:
    """One that was replaced meanwhile keeps its name and its bytes; one that is gone is gone."""
    before = facts_of(source)
    source.write_bytes(b"newer one")
    newer = facts_of(source)

    assert not moves.remove(str(source), before)
    assert below(source.parent) == {"a.wav": b"newer one"}
    assert moves.remove(str(source), newer)
    assert list(source.parent.iterdir()) == []
    assert moves.remove(str(source), newer)


def test_a_link_is_not_removed(moves: Moves, source: Path, tmp_path: Path) -> None:
    """What it leads to is somebody else's."""
    (tmp_path / "link.wav").symlink_to(source)

    with pytest.raises(SourceError, match="links are not moved"):
        moves.remove(str(tmp_path / "link.wav"), facts_of(source))


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


def test_a_file_that_a_killed_process_renamed_gets_its_name_back(moves: Moves, tmp_path: Path) -> None:
    """If its producer has put another one there, that one stays."""
    for name in ("a.wav", "b.wav"):
        aside = tmp_path / "acme" / f".proofsweep-moving-{name}"
        aside.mkdir(parents=True)
        (aside / name).write_bytes(b"aside")
    (tmp_path / "acme" / "b.wav").write_bytes(b"newer")

    moves.put_back(str(tmp_path))

    assert below(tmp_path) == {"acme/a.wav": b"aside", "acme/b.wav": b"newer"}
