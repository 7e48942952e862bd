"""An asset is in a file that nobody else sees, and that is gone with its last use, however that ends."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpcore
import pytest

from proofsweep.domain.errors import RunMustStop, SourceError
from proofsweep.domain.items import FileFacts
from proofsweep.verify.assets import AssetFile, AssetFiles

MOST = 10


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def new(files: AssetFiles, most_bytes: int = MOST) -> AssetFile:
    file = files.new(most_bytes)
    assert file is not None
    return file


def test_a_file_has_no_name(folder: Path) -> None:
    """So nothing is left of it, even if the process is killed."""
    with new(AssetFiles()) as file:
        file.take([b"abc"])

        assert file.read_at(0, MOST) == b"abc"
        assert list(folder.iterdir()) == []


def test_each_download_begins_anew() -> None:
    """What one that broke off has left is no part of the next; that is not an error of the file."""

    def broken() -> Iterator[bytes]:
        yield b"half of"
        raise httpcore.ReadError

    with new(AssetFiles()) as file:
        with pytest.raises(httpcore.ReadError):
            file.take(broken())
        file.take([b"ab", b"c"], 3)

        assert (file.error, file.facts(), file.read_at(0, MOST)) == (None, FileFacts(3, ""), b"abc")
        file.take([bytes(MOST)], MOST)
        assert (file.error, file.facts().size_bytes) == (None, MOST), "the bound is what is allowed"


@pytest.mark.parametrize(("announced", "left"), [(None, 7), (54, 9)])
def test_a_body_beyond_the_bound_is_not_read(announced: int | None, left: int) -> None:
    """It may be endless; with an announced size not a byte of it is read."""
    body = iter([b"123456"] * 9)

    with new(AssetFiles()) as file:
        file.take(body, announced)

    assert isinstance(file.error, SourceError)
    assert (file.error.reason, len(list(body))) == ("too_large", left)


def test_a_full_disk_is_kept_as_an_error() -> None:
    """The download itself has not failed, and says nothing about the proof."""
    with AssetFile(os.open("/dev/full", os.O_RDWR), MOST, lambda: None) as file:
        file.take([b"abc"])

    assert isinstance(file.error, RunMustStop)
    assert "set TMPDIR" in file.error.message


def test_room_is_kept_for_those_that_are_open() -> None:
    """Each may grow to its bound; the next one waits until one of them is closed."""
    files, disk = AssetFiles(), os.statvfs(tempfile.gettempdir())
    most_bytes = disk.f_bavail * disk.f_frsize * 6 // 10

    with new(files, most_bytes):
        assert files.new(most_bytes) is None
    with new(files, most_bytes):
        pass
