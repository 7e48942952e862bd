"""A new file is whole, and takes the place of none."""

import errno
import os
from pathlib import Path

import pytest

from proofsweep.config.local_files import new_file
from proofsweep.domain.errors import UsageError


def write(path: Path, content: bytes = b"new") -> None:
    """Write a file."""
    with new_file(path) as file:
        file.write(content)


def test_a_file_gets_its_name_when_it_is_whole(tmp_path: Path) -> None:
    """Nothing is left beside it."""
    write(tmp_path / "a")

    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a", b"new")]


def test_an_existing_file_stays_also_if_it_comes_meanwhile(tmp_path: Path) -> None:
    """The second writer is refused before it works, or at the end."""
    (tmp_path / "a").write_bytes(b"old")
    with pytest.raises(UsageError, match="a cannot be written: File exists"):
        write(tmp_path / "a")
    with pytest.raises(UsageError, match="File exists"), new_file(tmp_path / "b"):
        (tmp_path / "b").write_bytes(b"other")

    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"old", "b": b"other"}


def test_an_error_inside_leaves_nothing(tmp_path: Path) -> None:
    """The error is told as it is."""
    with pytest.raises(ZeroDivisionError), new_file(tmp_path / "a"):
        raise ZeroDivisionError

    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    """Here there is no such folder."""
    with pytest.raises(UsageError, match="No such file or directory"):
        write(tmp_path / "no" / "a")


def test_a_file_system_without_links_has_new_files_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An existing file is still refused."""

    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    write(tmp_path / "a")

    assert (tmp_path / "a").read_bytes() == b"new"
    with pytest.raises(UsageError, match="File exists"):
        write(tmp_path / "a")
