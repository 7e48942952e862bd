"""Folders are walked whatever stands in them, each once."""

import os
from pathlib import Path

from proofsweep.files.local_files import LocalFolders
from proofsweep.files.source import Folder
from proofsweep.model.reasons import Ineligible, Reason


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
    return list(LocalFolders().walk(str(root)))


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


def test_a_link_out_of_the_root_is_not_walked(tmp_path: Path) -> None:
    """The folder is named with its reason, and what is in it is not."""
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "key").touch()
    (tmp_path / "drop").mkdir()
    (tmp_path / "drop" / "music").symlink_to(tmp_path / "private")
    root = os.path.realpath(tmp_path / "drop")

    own, music = LocalFolders(root).walk(str(tmp_path / "drop"))

    assert own.refused is None
    assert music.refused is not None
    assert (music.files, music.refused.reason) == ([], Reason.OUTSIDE_CATALOG)
    assert "private" not in music.refused.detail


def test_a_folder_that_cannot_be_read_is_refused_and_the_walk_goes_on(tmp_path: Path) -> None:
    """Here its path is longer than the system allows; a folder without permission, or on a failing disk, is alike."""
    make_too_deep(tmp_path / "deep")
    (tmp_path / "next").mkdir()

    *_, too_deep, last = walked(tmp_path)

    assert too_deep.refused == Ineligible(Reason.UNREADABLE_FOLDER, "The folder cannot be read: File name too long.")
    assert last == Folder(location=f"{tmp_path}/next", files=[])


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


def test_a_folder_that_vanished_is_refused(tmp_path: Path) -> None:
    """The walk goes on past what it cannot read."""
    unreadable = Ineligible(Reason.UNREADABLE_FOLDER, "The folder cannot be read: No such file or directory.")

    assert walked(tmp_path / "gone") == [Folder(location=str(tmp_path / "gone"), files=[], refused=unreadable)]
