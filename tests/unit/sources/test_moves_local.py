"""Creating files of this machine where none is, and removing only what was looked at."""

import hashlib
import os
from pathlib import Path

import pytest

from proofsweep.domain.errors import NameTaken, SourceError
from proofsweep.sources.local import LocalFiles
from proofsweep.sources.moves import LocalMoves

CONTENT = [b"first ", b"second"]
SHA256 = hashlib.sha256(b"".join(CONTENT)).hexdigest()


def test_a_file_appears_whole_in_folders_that_are_made(tmp_path: Path) -> None:
    """Nothing else is left beside it."""
    path = tmp_path / "new" / "folder" / "a.wav"

    LocalMoves().create(str(path), CONTENT, SHA256)

    assert path.read_bytes() == b"first second"
    assert list(path.parent.iterdir()) == [path]


def test_a_name_that_is_taken_is_not_overwritten(tmp_path: Path) -> None:
    """The other file stays as it is."""
    path = tmp_path / "a.wav"
    path.write_bytes(b"other")

    with pytest.raises(NameTaken):
        LocalMoves().create(str(path), CONTENT, SHA256)

    assert path.read_bytes() == b"other"
    assert list(tmp_path.iterdir()) == [path]


def test_other_bytes_never_get_the_name(tmp_path: Path) -> None:
    """A source that changed after it was verified is not copied."""
    with pytest.raises(SourceError, match="not the one that was verified"):
        LocalMoves().create(str(tmp_path / "a.wav"), [b"else"], SHA256)

    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    """The file in the folder's place is named by the system's reason."""
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(SourceError, match=r"cannot be moved: (Not a directory|File exists)"):
        LocalMoves().create(str(tmp_path / "file" / "a.wav"), CONTENT, SHA256)


def test_only_the_file_that_was_looked_at_is_removed(tmp_path: Path) -> None:
    """One that was replaced meanwhile keeps its name and its bytes."""
    path, moves = tmp_path / "a.wav", LocalMoves()
    path.write_bytes(b"old")
    facts = LocalFiles().facts(str(path))
    assert facts is not None
    path.write_bytes(b"newer")

    assert not moves.remove(str(path), facts)
    assert path.read_bytes() == b"newer"
    assert list(tmp_path.iterdir()) == [path]

    newer = LocalFiles().facts(str(path))
    assert newer is not None
    assert moves.remove(str(path), newer)
    assert list(tmp_path.iterdir()) == []
    assert moves.remove(str(path), newer), "somebody else has removed it"


def test_a_link_is_not_removed(tmp_path: Path) -> None:
    """What it leads to is somebody else's."""
    (tmp_path / "real.wav").write_bytes(b"x")
    (tmp_path / "link.wav").symlink_to("real.wav")
    facts = LocalFiles().facts(str(tmp_path / "link.wav"))
    assert facts is not None

    with pytest.raises(SourceError, match="links are not moved"):
        LocalMoves().remove(str(tmp_path / "link.wav"), facts)


def test_a_file_that_a_killed_process_renamed_gets_its_name_back(tmp_path: Path) -> None:
    """If its producer has put another one there, that one stays."""
    for name in ("a.wav", "b.wav"):
        aside = tmp_path / "acme" / f".proofsweep-moving-{name}"
        aside.mkdir(parents=True)
        (aside / name).write_bytes(b"aside")
    (tmp_path / "acme" / "b.wav").write_bytes(b"newer")

    LocalMoves().put_back(str(tmp_path))

    found = {path.name: path.read_bytes() for path in (tmp_path / "acme").iterdir()}
    assert found == {"a.wav": b"aside", "b.wav": b"newer"}


def test_what_a_killed_copy_left_is_deleted(tmp_path: Path) -> None:
    """The draft of a name is always the same, so that the next try finds it."""
    target, moves = str(tmp_path / "a.wav"), LocalMoves()
    unlink = Path.unlink
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "unlink", lambda _path, **_options: None)  # as if it was killed before
        moves.create(target, CONTENT, SHA256)
    assert Path.unlink is unlink
    assert len(os.listdir(tmp_path)) == 2  # noqa: PTH208 - hidden files count

    moves.clear(target)

    assert os.listdir(tmp_path) == ["a.wav"]  # noqa: PTH208 - as above


def test_a_copy_whose_deletion_was_killed_gets_its_name_back(tmp_path: Path) -> None:
    """So that the next try finds it."""
    target, moves = tmp_path / "a.wav", LocalMoves()
    target.write_bytes(b"copy")
    facts = LocalFiles().facts(str(target))
    assert facts is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "unlink", lambda _path, **_options: None)  # as if it was killed before
        moves.remove(str(target), facts)
    assert not target.exists()

    moves.clear(str(target))

    assert [path.name for path in tmp_path.iterdir()] == ["a.wav"]
