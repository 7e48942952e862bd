"""Files of this machine are read whatever stands at their names."""

import os
from collections.abc import Callable
from errno import EACCES, EHOSTDOWN, EIO, EMFILE, ENFILE, ENOMEM, ENOTCONN, EPERM, ESTALE
from pathlib import Path
from typing import NoReturn

import pytest

from proofsweep.domain.errors import ResourceShortage, SourceError
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.sources.local import LocalFiles
from proofsweep.sources.source import Folder


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


def make_too_deep(folder: Path) -> None:
    """Make folders in folders until the innermost one has a path of more than 4,096 bytes."""
    folder.mkdir()
    here = os.open(folder, os.O_RDONLY)
    for _ in range(17):
        os.mkdir("x" * 250, dir_fd=here)
        above, here = here, os.open("x" * 250, os.O_RDONLY, dir_fd=here)
        os.close(above)
    os.close(here)


def walked(root: Path) -> list[Folder]:
    """Walk a folder to the end."""
    return list(LocalFiles().walk(str(root)))


def test_a_folders_own_files_come_first_and_names_sort_by_their_bytes(tmp_path: Path) -> None:
    """The order is the same on every machine, whatever the file system gives."""
    for name in ("b/2", "b/1", "a/deep/1", "z", "Z", "é", "a/1"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()

    found = [(os.path.relpath(folder.location, tmp_path), folder.files) for folder in walked(tmp_path)]

    assert found == [(".", ["Z", "z", "é"]), ("a", ["1"]), ("a/deep", ["1"]), ("b", ["1", "2"])]


def test_linked_folders_are_walked_last_and_circles_are_left(tmp_path: Path) -> None:
    """A link to another folder counts; one that leads back is noted and not followed."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "1").touch()
    (tmp_path / "drop" / "sub").mkdir(parents=True)
    (tmp_path / "drop" / "again").symlink_to(tmp_path / "drop")
    (tmp_path / "drop" / "linked").symlink_to(tmp_path / "elsewhere")

    root, sub, again, linked = walked(tmp_path / "drop")

    assert [each.is_repeated for each in (root, sub, again, linked)] == [False, False, True, False]
    assert (again.files, linked.files) == ([], ["1"])


def test_folders_that_link_to_each_other_are_walked_once_each(tmp_path: Path) -> None:
    """Each of seven leads to all others: without memory that would be thousands of files."""
    for number in range(7):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "a.wav").touch()
        for other in range(7):
            (tmp_path / str(number) / f"to {other}").symlink_to(tmp_path / str(other))

    folders = walked(tmp_path)

    assert sorted(each.location for each in folders if each.files) == [f"{tmp_path}/{number}" for number in range(7)]
    assert sum(each.is_repeated for each in folders) == 49


def test_a_folder_above_one_that_was_walked_gives_only_the_rest(tmp_path: Path) -> None:
    """Two links lead to a folder and to the one that holds it; a hidden folder is walked when a link leads to it."""
    for name in ("store/.v1/deep/a.wav", "store/b.wav"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "drop").mkdir()
    (tmp_path / "drop" / "1").symlink_to("../store/.v1/deep")
    (tmp_path / "drop" / "2").symlink_to("../store/.v1")
    (tmp_path / "drop" / "3").symlink_to("../store")

    found = {os.path.relpath(each.location, tmp_path / "drop"): each for each in walked(tmp_path / "drop")}

    assert {name: each.files for name, each in found.items() if each.files} == {"1": ["a.wav"], "3": ["b.wav"]}
    assert [name for name, each in found.items() if each.is_repeated] == ["2/deep"]


def test_a_folder_that_cannot_be_read_is_refused_and_the_walk_goes_on(tmp_path: Path) -> None:
    """Here its path is longer than the system allows; a folder without permission, or on a failing disk, is alike."""
    make_too_deep(tmp_path / "deep")
    (tmp_path / "next").mkdir()

    *_, too_deep, last = walked(tmp_path)

    assert too_deep.refused == Ineligible(Reason.UNREADABLE_FOLDER, "The folder cannot be read: File name too long.")
    assert last == Folder(location=f"{tmp_path}/next", files=[])


def test_hidden_folders_are_named_and_not_walked(tmp_path: Path) -> None:
    """What begins with a dot belongs to a program, not to the delivery."""
    (tmp_path / ".hack").mkdir()
    (tmp_path / ".hack" / "a.wav").touch()
    (tmp_path / "._a.wav").touch()

    (folder,) = walked(tmp_path)

    assert (folder.files, folder.left_out) == ([], {"hidden": ["._a.wav", ".hack"], "hidden_audio": [".hack/a.wav"]})
