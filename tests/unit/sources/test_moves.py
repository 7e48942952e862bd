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
