"""A reader of a file format gets a file of any source as a seekable stream."""

import os
from pathlib import Path

import pytest

from proofsweep.domain.errors import SourceError
from proofsweep.domain.reasons import Reason
from proofsweep.sources.local import LocalFile, LocalFiles
from proofsweep.sources.source import buffered

CONTENT = bytes(range(256)) * 10_000


@pytest.fixture
def file(tmp_path: Path) -> LocalFile:
    """Open a file of some MiB."""
    path = tmp_path / "file"
    path.write_bytes(CONTENT)
    opened = LocalFiles().open(str(path))
    assert opened is not None
    return opened


@pytest.mark.parametrize(
    ("offset", "whence", "position"),
    [(100, os.SEEK_SET, 100), (-8, os.SEEK_END, len(CONTENT) - 8), (3, os.SEEK_CUR, 13)],
)
def test_a_stream_can_be_sought_from_each_place(file: LocalFile, offset: int, whence: int, position: int) -> None:
    """Parquet is read from its end; leaving the stream closes the file, so no descriptor of many manifests stays."""
    with buffered(file) as stream:
        assert stream.read() == CONTENT
        stream.seek(0)
        stream.read(10)

        assert stream.seek(offset, whence) == position
        assert stream.read(8) == CONTENT[position : position + 8]
        assert stream.tell() == min(position + 8, len(CONTENT))
    with pytest.raises(SourceError):
        file.read_at(0, 1)


class BrokenFile(LocalFile):
    """A file that cannot be read."""

    def read_at(self, offset: int, most_bytes: int) -> bytes:
        """Fail."""
        raise SourceError(f"{most_bytes} bytes at {offset} are gone.", reason=Reason.UNREADABLE_FILE)


def test_an_error_of_the_file_is_raised_unchanged() -> None:
    """The caller knows the source's errors, and no others."""
    with buffered(BrokenFile(os.open(os.devnull, os.O_RDONLY))) as stream, pytest.raises(SourceError, match="are gone"):
        stream.read(1)
