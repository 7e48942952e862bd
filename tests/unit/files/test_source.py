"""What every source of files has in common."""

import pytest

from proofsweep.errors import SourceError
from proofsweep.files.source import Folder, OpenFile
from proofsweep.model.items import FileFacts


class SomeFile(OpenFile):
    """A file that says whether it is open."""

    is_open = True

    def facts(self) -> FileFacts:
        """It is empty."""
        return FileFacts(0, "v")

    def read_at(self, offset: int, most_bytes: int) -> bytes:
        """Fail at every read."""
        raise SourceError(f"{most_bytes} at {offset}", reason="unreadable_file")

    def close(self) -> None:
        """Note it."""
        self.is_open = False


def test_leaving_the_with_block_closes_a_file() -> None:
    """Each kind of file gets this from the port."""
    with SomeFile() as file:
        was_open = file.is_open

    assert was_open
    assert not file.is_open


def test_an_error_closes_a_file_and_is_raised() -> None:
    """It is not swallowed."""
    file = SomeFile()

    with pytest.raises(SourceError), file:
        file.read_at(0, 1)

    assert not file.is_open


def test_folders_do_not_share_their_lists() -> None:
    """A folder of which nothing else is known holds files only."""
    first, second = Folder(location="/a", files=[]), Folder(location="/b", files=[])

    first.hidden.append(".x")

    assert (second.hidden, second.unreadable, second.known) == ([], [], {})
