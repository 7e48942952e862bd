"""Folders are read whatever stands in them."""

import os
from pathlib import Path

import pytest

from proofsweep.domain.reasons import Reason
from proofsweep.errors import SourceError
from proofsweep.storage.files.local_files import LocalFiles
from proofsweep.storage.files.source import Folder


def walked(root: Path) -> list[Folder]:
    """Walk a folder to the end."""
    return list(LocalFiles().walk(str(root)))


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

    assert LocalFiles().facts(location) is None
    assert LocalFiles().open(location) is None


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


def test_a_folders_own_files_come_first_and_names_sort_by_their_bytes(tmp_path: Path) -> None:
    """The order is the same on every machine, whatever the file system gives."""
    for name in ("b/2", "b/1", "a/deep/1", "z", "Z", "é", "a/1"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()

    found = [(os.path.relpath(folder.location, tmp_path), folder.files) for folder in walked(tmp_path)]

    assert found == [(".", ["Z", "z", "é"]), ("a", ["1"]), ("a/deep", ["1"]), ("b", ["1", "2"])]


def test_linked_folders_are_walked_and_circles_are_left(tmp_path: Path) -> None:
    """A link to another folder counts; one that leads back to a folder above is noted and not followed."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "1").touch()
    (tmp_path / "drop").mkdir()
    (tmp_path / "drop" / "again").symlink_to(tmp_path / "drop")
    (tmp_path / "drop" / "linked").symlink_to(tmp_path / "elsewhere")

    root, again, linked = walked(tmp_path / "drop")

    assert root.files == []
    assert (again.files, again.unreadable) == ([], ["."])
    assert linked.files == ["1"]


def test_links_that_lead_nowhere_are_files_and_devices_are_unreadable(tmp_path: Path) -> None:
    """Somebody meant a file to be where a dangling link points; a FIFO is never one."""
    (tmp_path / "dangling.wav").symlink_to("gone.wav")
    (tmp_path / "self.wav").symlink_to("self.wav")
    (tmp_path / "null.wav").symlink_to(os.devnull)
    os.mkfifo(tmp_path / "fifo.wav")

    (folder,) = walked(tmp_path)

    assert folder.files == ["dangling.wav", "self.wav"]
    assert folder.unreadable == ["fifo.wav", "null.wav"]


def test_hidden_folders_are_named_and_not_walked(tmp_path: Path) -> None:
    """What begins with a dot belongs to a program, not to the delivery."""
    (tmp_path / ".trash").mkdir()
    (tmp_path / ".trash" / "a.wav").touch()
    (tmp_path / "._a.wav").touch()

    (folder,) = walked(tmp_path)

    assert (folder.files, folder.hidden) == ([], ["._a.wav", ".trash"])


def test_a_folder_that_vanished_is_noted(tmp_path: Path) -> None:
    """The walk goes on past what it cannot read."""
    assert walked(tmp_path / "gone") == [Folder(location=str(tmp_path / "gone"), files=[], unreadable=["."])]
