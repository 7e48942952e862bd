"""Files are removed and get their names back inside their own folder, on a full disk too; copies keep their rights."""

import errno
import hashlib
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from proofsweep.domain.errors import NameTaken, SourceError
from proofsweep.files.files import Files
from proofsweep.files.local_files import LocalFile
from proofsweep.files.moving import Moves
from proofsweep.files.open_file import OpenFile

SHORT, LONG = "a.wav", f"{'a' * 246}.wav"  # a name of 255 bytes has no room for more before it
HIDDEN_FILE, HIDDEN_FOLDER = ".proofsweep-removing-a.wav", ".proofsweep-moving-aa"


class Killed(BaseException):
    pass


def remove(path: Path) -> bool:
    facts = Files().facts(str(path))
    assert facts is not None
    return Moves(Files()).remove(str(path), facts)


def hidden_folder_of(path: Path) -> Path:
    digits = hashlib.sha256(os.fsencode(path)).hexdigest()[:24]
    return path.parent / f".proofsweep-moving-{digits}"


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    """A folder of somebody else, with a file of each name."""
    folder = tmp_path / "precious"
    folder.mkdir()
    for name in (SHORT, LONG):
        (folder / name).write_bytes(b"precious")
    return folder


@pytest.fixture
def acme(tmp_path: Path) -> Path:
    folder = tmp_path / "in/acme"
    folder.mkdir(parents=True)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("name", [HIDDEN_FILE, HIDDEN_FOLDER])
def test_a_link_with_a_hidden_name_of_ours_is_left_alone(acme: Path, precious: Path, name: str) -> None:
    """Else a supplier who makes one would be given the files of others."""
    before = contents(precious)
    (acme / name).symlink_to(precious)

    assert Moves(Files()).put_back(str(acme.parent)) == {}
    Moves(Files()).clear(str(acme / SHORT))

    assert contents(precious) == before
    assert [path.name for path in acme.iterdir()] == [name]


@pytest.mark.skipif(sys.platform != "linux", reason="needs paths that lead to an open folder")
def test_a_hidden_folder_that_becomes_a_link_while_it_is_emptied_is_not_followed(
    acme: Path, precious: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden, before = acme / HIDDEN_FOLDER, contents(precious)
    hidden.mkdir()
    (hidden / SHORT).write_bytes(b"audio")
    entries = Path.iterdir

    def swap(folder: Path) -> Iterator[Path]:
        hidden.rename(acme / "swapped")
        hidden.symlink_to(precious)
        return entries(folder)

    with monkeypatch.context() as swapping:
        swapping.setattr(Path, "iterdir", swap)
        assert list(Moves(Files()).put_back(str(acme))) == [str(hidden)]

    assert contents(precious) == before
    assert (acme / SHORT).read_bytes() == b"audio"


@pytest.mark.parametrize("name", [SHORT, LONG])
def test_a_file_is_not_removed_while_something_else_has_its_hidden_name(acme: Path, precious: Path, name: str) -> None:
    """What lies there is neither overwritten nor followed."""
    path, before = acme / name, contents(precious)
    path.write_bytes(b"audio")
    hidden = acme / HIDDEN_FILE if name == SHORT else hidden_folder_of(path)
    hidden.symlink_to(precious)

    with pytest.raises(SourceError, match=f"something else has the name {hidden.name} beside it"):
        remove(path)

    assert contents(precious) == before
    assert (path.read_bytes(), hidden.readlink()) == (b"audio", precious)


def test_a_link_to_a_folder_elsewhere_under_a_guessed_name_loses_no_file_there(acme: Path, precious: Path) -> None:
    path, before = acme / SHORT, contents(precious)
    path.write_bytes(b"audio")
    hidden_folder_of(path).symlink_to(precious)

    assert remove(path)

    assert contents(precious) == before
    assert [entry.name for entry in acme.iterdir()] == [hidden_folder_of(path).name]


@pytest.mark.parametrize("name", [".proofsweep-removing-", ".proofsweep-removing-.", ".proofsweep-removing-.."])
def test_a_hidden_name_that_stands_for_no_file_stays(acme: Path, name: str) -> None:
    (acme / name).write_bytes(b"whatever")

    assert Moves(Files()).put_back(str(acme.parent)) == {}

    assert contents(acme) == {name: b"whatever"}


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_file_is_removed_from_a_full_disk(acme: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    """There is no space for a new folder, and there would never be any again."""

    def fail(*_: object, **_more: object) -> NoReturn:
        raise OSError(code, os.strerror(code))

    (acme / SHORT).write_bytes(b"audio")
    for makes in ("mkdir", "hardlink_to", "touch"):
        monkeypatch.setattr(Path, makes, fail)

    assert remove(acme / SHORT)

    assert contents(acme) == {}


@pytest.mark.parametrize("name", [SHORT, LONG])
def test_a_file_that_was_replaced_meanwhile_is_put_back(acme: Path, name: str) -> None:
    path = acme / name
    path.write_bytes(b"audio")
    facts = Files().facts(str(path))
    assert facts is not None
    path.write_bytes(b"newer one")

    assert not Moves(Files()).remove(str(path), facts)

    assert contents(acme) == {name: b"newer one"}
    assert remove(path)
    assert Moves(Files()).remove(str(path), facts)
    assert contents(acme) == {}


@pytest.mark.parametrize("heals", ["put_back", "clear"])
@pytest.mark.parametrize("name", [SHORT, LONG])
def test_a_file_that_was_renamed_when_its_pass_was_killed_has_its_name_back(
    acme: Path, monkeypatch: pytest.MonkeyPatch, name: str, heals: str
) -> None:
    (acme / name).write_bytes(b"audio")

    def kill(*_: object) -> NoReturn:
        raise Killed

    with monkeypatch.context() as killing:
        killing.setattr(Path, "unlink", kill)
        with pytest.raises(Killed):
            remove(acme / name)
    assert not (acme / name).exists()
    if heals == "clear":
        Moves(Files()).clear(str(acme / name))
    else:
        assert Moves(Files()).put_back(str(acme.parent)) == {}

    assert contents(acme) == {name: b"audio"}


def rights(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def copy(source: Path, target: Path) -> None:
    assert Moves(Files()).copy(str(source), str(target), hashlib.sha256(source.read_bytes()).hexdigest())


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize(("of_file", "of_folder"), [(0o600, 0o700), (0o640, 0o750), (0o444, 0o755), (0o664, 0o555)])
def test_a_copy_has_the_rights_of_its_source(
    acme: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of_file: int, of_folder: int
) -> None:
    """Also in each new folder; and while it is written, it is for its owner alone."""
    source, target = acme / SHORT, tmp_path / "ok/acme/a.wav"
    source.write_bytes(b"audio")
    source.chmod(of_file)
    acme.chmod(of_folder)
    give, while_written = os.fchmod, list[int]()

    def fchmod(handle: int, mode: int) -> None:
        while_written.append(stat.S_IMODE(os.fstat(handle).st_mode))
        give(handle, mode)

    monkeypatch.setattr(os, "fchmod", fchmod)
    copy(source, target)

    folder = of_folder | 0o700
    assert [rights(path) for path in (target, target.parent, target.parent.parent)] == [of_file, folder, folder]
    assert while_written == [0o600]


@pytest.mark.usefixtures("umask")
def test_what_is_copied_into_a_folder_of_a_group_is_for_that_group(acme: Path, tmp_path: Path) -> None:
    """As in a results store; it is for nobody else."""
    source, team = acme / SHORT, tmp_path / "team"
    source.write_bytes(b"audio")
    source.chmod(0o600)
    acme.chmod(0o700)
    team.mkdir()
    team.chmod(0o775)

    copy(source, team / "acme/a.wav")

    assert (rights(team / "acme"), rights(team / "acme/a.wav")) == (0o770, 0o660)


def test_copies_of_two_files_to_one_name_do_not_disturb_each_other(tmp_path: Path) -> None:
    """Two folders that are watched by two processes may have one target: the draft of each is its own."""
    first, second, target = tmp_path / "a" / "x.wav", tmp_path / "b" / "x.wav", tmp_path / "ok" / "x.wav"
    for path, content in ((first, b"first"), (second, b"second")):
        path.parent.mkdir()
        path.write_bytes(content)
    digests = {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in (first, second)}
    moves = Moves(Files())

    def copy_other() -> None:
        moves.copy(str(second), str(target), digests[second])

    file_pieces = LocalFile.pieces

    def pieces(file: OpenFile, piece_bytes: int) -> Iterator[bytes]:
        """Read a file, of which the first half is written when the other one is copied."""
        content = b"".join(file_pieces(file, piece_bytes))
        yield content[:2]
        if not target.exists():
            patched.undo()
            copy_other()
        yield content[2:]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(LocalFile, "pieces", pieces)
        with pytest.raises(NameTaken):
            moves.copy(str(first), str(target), digests[first])

    assert target.read_bytes() == b"second"
    assert os.listdir(target.parent) == ["x.wav"]  # noqa: PTH208 - hidden ones too


@pytest.mark.parametrize(("folder", "is_scanned"), [("..acme", True), (".acme", False)])
def test_names_are_given_back_wherever_files_are_scanned(tmp_path: Path, folder: str, *, is_scanned: bool) -> None:
    """A folder whose name begins with one dot is hidden; one with two is a label's."""
    (tmp_path / folder).mkdir()
    (tmp_path / folder / HIDDEN_FILE).write_bytes(b"audio")

    assert Moves(Files()).put_back(str(tmp_path)) == {}

    assert contents(tmp_path / folder) == {SHORT if is_scanned else HIDDEN_FILE: b"audio"}
