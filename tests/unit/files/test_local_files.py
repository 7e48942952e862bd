"""Files of this machine are read whatever stands at their names."""

import os
from collections.abc import Callable
from errno import EACCES, EHOSTDOWN, EIO, EMFILE, ENFILE, ENOMEM, ENOTCONN, EPERM, ESTALE
from pathlib import Path
from typing import NoReturn

import pytest

from proofsweep.errors import ResourceShortage, SourceError
from proofsweep.files.local_files import LocalFiles
from proofsweep.model.reasons import Reason


def test_facts_change_when_a_file_does(tmp_path: Path) -> None:
    """The version shows another content of the same size, by its time."""
    file = tmp_path / "a.wav"
    file.write_bytes(b"abc")
    before = LocalFiles().facts(str(file))
    os.utime(file, ns=(0, 1))

    after = LocalFiles().facts(str(file))

    assert before is not None
    assert after is not None
    assert (before.size_bytes, after.size_bytes) == (3, 3)
    assert after.version == "3-1"
    assert before.version != after.version


@pytest.mark.parametrize("name", ["nothing", "file/below", "n\0l", "\ud800", "x" * 300, "circle", "dangling"])
def test_where_nothing_can_be_there_is_nothing(tmp_path: Path, name: str) -> None:
    """Names that lead nowhere, or that no file can have, are missing files and no errors."""
    (tmp_path / "file").touch()
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "dangling").symlink_to("gone.wav")

    location = f"{tmp_path}/{name}"

    for files in (LocalFiles(), LocalFiles(os.path.realpath(tmp_path))):
        assert files.facts(location) is None
        assert files.open(location) is None


@pytest.mark.parametrize("kind", ["folder", "fifo", "device", "link to a fifo"])
def test_what_is_no_regular_file_is_refused_without_waiting(tmp_path: Path, kind: str) -> None:
    """A FIFO without a writer would keep a worker forever."""
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link to a fifo").symlink_to("fifo")
    (tmp_path / "folder").mkdir()
    location = os.devnull if kind == "device" else str(tmp_path / kind)

    for look in (LocalFiles().facts, LocalFiles().open):
        with pytest.raises(SourceError) as refused:
            look(location)
        assert refused.value.reason == Reason.UNREADABLE_FILE


@pytest.mark.parametrize("name", ["a.wav", "sub/a.wav", "link to sub/a.wav", "link.wav", "sub/../a.wav"])
def test_what_lies_in_the_root_is_read_as_ever(tmp_path: Path, name: str) -> None:
    """Links within it are followed."""
    (tmp_path / "sub").mkdir()
    for each in ("a.wav", "sub/a.wav"):
        (tmp_path / each).write_bytes(b"abc")
    (tmp_path / "link to sub").symlink_to("sub")
    (tmp_path / "link.wav").symlink_to("sub/a.wav")
    location, inside = f"{tmp_path}/{name}", LocalFiles(os.path.realpath(tmp_path))

    file = inside.open(location)

    assert file is not None
    with file:
        assert file.read_at(0, 10) == b"abc"
        assert inside.facts(location) == LocalFiles().facts(location) == file.facts()


@pytest.mark.parametrize(
    "name", ["/etc/hosts", "../secret", "gone/../../secret", "link", "folder/secret", "/gone/a.wav"]
)
def test_what_lies_outside_the_root_is_neither_looked_at_nor_opened(tmp_path: Path, name: str) -> None:
    """Not by an absolute path, not by `..`, not by a link; whether something is there is not told either."""
    root = tmp_path / "drop"
    root.mkdir()
    (tmp_path / "secret").write_bytes(b"key")
    (root / "link").symlink_to("../secret")
    (root / "folder").symlink_to("..")
    inside = LocalFiles(os.path.realpath(root))

    for look in (inside.facts, inside.open):
        with pytest.raises(SourceError) as refused:
            look(name if name.startswith("/") else f"{root}/{name}")
        assert refused.value.reason == Reason.OUTSIDE_CATALOG
        assert "secret" not in refused.value.message


def failing(number: int) -> Callable[..., NoReturn]:
    """Make a call of the system that fails with this error."""

    def fail(*_: object, **_more: object) -> NoReturn:
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.parametrize("call", ["open", "pread", "fstat"])
@pytest.mark.parametrize(
    ("number", "reason", "kind"),
    [
        *((number, Reason.SOURCE_UNAVAILABLE, ResourceShortage) for number in (EMFILE, ENFILE, ENOMEM)),
        *((number, Reason.SOURCE_UNAVAILABLE, SourceError) for number in (EIO, ESTALE, ENOTCONN, EHOSTDOWN)),
        *((number, Reason.UNREADABLE_FILE, SourceError) for number in (EACCES, EPERM)),
    ],
)
def test_an_error_of_the_system_says_who_is_at_fault(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    call: str,
    number: int,
    reason: Reason,
    kind: type[SourceError],
) -> None:
    """This process, which has too few open files; the disk or server, which is away now; or the file itself."""
    (tmp_path / "a.wav").write_bytes(b"abc")
    location, files = str(tmp_path / "a.wav"), LocalFiles()
    opened = files.open(location)
    assert opened is not None
    looks = {"open": lambda: files.open(location), "pread": lambda: opened.read_at(0, 3), "fstat": opened.facts}

    with monkeypatch.context() as broken:
        broken.setattr(os, call, failing(number))
        with pytest.raises(SourceError) as failed:
            looks[call]()
    opened.close()

    assert type(failed.value) is kind
    assert failed.value.reason == reason
    assert os.strerror(number) in failed.value.message


def test_a_file_whose_facts_cannot_be_had_is_closed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a server that is away for a night would cost all open files."""
    (tmp_path / "a.wav").write_bytes(b"abc")
    before = len(list(Path("/proc/self/fd").iterdir()))
    with monkeypatch.context() as away:
        away.setattr(os, "fstat", failing(EIO))

        for _ in range(9):
            with pytest.raises(SourceError):
                LocalFiles().open(str(tmp_path / "a.wav"))

    assert len(list(Path("/proc/self/fd").iterdir())) == before
