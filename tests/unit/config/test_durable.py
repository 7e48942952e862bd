"""What is synced survives a power cut: the content, the name, and each folder above it."""

import os
from pathlib import Path

import pytest

from proofsweep.config.local_files import make_folder, sync_file, sync_folder


@pytest.fixture
def durable(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The inodes that were synced."""
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
