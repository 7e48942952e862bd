"""A new file is whole and takes the place of none; what is synced survives a power cut."""

import os
from pathlib import Path

import pytest

from proofsweep.config.locations import make_folder, new_file, sync_file, sync_folder
from proofsweep.domain.errors import UsageError


def write(path: Path, content: bytes = b"new") -> None:
    with new_file(path) as file:
        file.write(content)


def test_an_existing_file_stays_also_if_it_comes_meanwhile(tmp_path: Path) -> None:
    """The second writer is refused before it works, or at the end."""
    (tmp_path / "a").write_bytes(b"old")
    with pytest.raises(UsageError, match="a cannot be written: File exists"):
        write(tmp_path / "a")
    with pytest.raises(UsageError, match="File exists"), new_file(tmp_path / "b"):
        (tmp_path / "b").write_bytes(b"other")

    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"old", "b": b"other"}


@pytest.fixture
def durable(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    found: set[int] = set()
    fsync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: found.add(os.fstat(handle).st_ino) or fsync(handle))
    return found


def test_each_folder_is_made_durable_in_the_one_above(tmp_path: Path, durable: set[int]) -> None:
    """Else the whole branch may be gone."""
    make_folder(tmp_path / "a" / "b")

    assert {each.stat().st_ino for each in (tmp_path, tmp_path / "a")} <= durable


def test_a_file_is_durable_with_its_name(tmp_path: Path, durable: set[int]) -> None:
    """What is in a buffer is written first."""
    path = tmp_path / "a"
    with path.open("wb") as file:
        file.write(b"content")
        sync_file(file)
        assert path.read_bytes() == b"content"
    sync_folder(tmp_path)

    assert {path.stat().st_ino, tmp_path.stat().st_ino} <= durable
