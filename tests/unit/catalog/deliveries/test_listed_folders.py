"""Whether a file is there is known from the listing."""

from unicodedata import normalize

import pytest

from proofsweep.catalog.deliveries.listed_folders import ListedFolders
from proofsweep.errors import SourceError
from proofsweep.files.local_files import LocalFiles
from proofsweep.files.source import Folder
from proofsweep.model.items import FileFacts
from proofsweep.model.reasons import Reason


class Asked(LocalFiles):
    """Says of each file outside of the listing that it is there, unless it may not be read."""

    def __init__(self) -> None:
        super().__init__()
        self.locations: list[str] = []

    def facts(self, location: str) -> FileFacts | None:
        """Note the question."""
        self.locations.append(location)
        if "secret" in location:
            raise SourceError("No.", reason=Reason.UNREADABLE_FILE)
        return None if "gone" in location else FileFacts(1, "1")


def listed(source: Asked) -> ListedFolders:
    """List a release with two folders."""
    folders = ListedFolders(source)
    folders.add(Folder(location="/b/r", files=["a.wav", normalize("NFD", "é.wav")]), is_top=True)
    folders.add(Folder(location="/b/r/resources", files=["b.wav"]), is_top=False)
    return folders


@pytest.mark.parametrize(
    ("location", "found"),
    [
        ("/b/r/a.wav", "/b/r/a.wav"),
        ("/b/r/b.wav", None),
        ("/b/r/resources/b.wav", "/b/r/resources/b.wav"),
        ("/b/r/none/b.wav", None),
        (f"/b/r/{normalize('NFC', 'é.wav')}", f"/b/r/{normalize('NFD', 'é.wav')}"),
        (f"/b/r/{normalize('NFC', 'è.wav')}", None),
    ],
)
def test_listing_says_what_is_there(location: str, found: str | None) -> None:
    """Nothing is asked of the source; a name is equal in each of its forms."""
    source = Asked()

    assert listed(source).found(location) == found
    assert source.locations == []


@pytest.mark.parametrize(
    ("location", "found"),
    [("/b/x.wav", True), ("/b/gone.wav", False), ("/b/secret.wav", True), ("/b/r/.hidden/x.wav", True)],
)
def test_elsewhere_the_source_is_asked(location: str, found: bool) -> None:
    """What may not be read is there."""
    assert (listed(Asked()).found(location) == location) == found


def test_nearest_release_is_the_one_that_holds_a_folder() -> None:
    """A release may lie in another."""
    folders = listed(Asked())
    folders.add(Folder(location="/b/r/more", files=[]), is_top=True)

    tops = [folders.top_of(each) for each in ("/b/r/resources", "/b/r/more/x", "/b", "s3://bucket/r")]

    assert tops == ["/b/r", "/b/r/more", None, None]
