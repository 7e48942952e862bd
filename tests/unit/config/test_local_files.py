"""A new file is whole and takes the place of none; what is synced is whole on the disk."""

from pathlib import Path

import pytest

from proofsweep.config.locations import new_file, sync_file
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


def test_what_is_in_a_buffer_is_synced_too(tmp_path: Path) -> None:
    with (tmp_path / "a").open("wb") as file:
        file.write(b"content")
        sync_file(file)
        assert (tmp_path / "a").read_bytes() == b"content"
