"""What lists declare is kept by file, and two lists that contradict each other are not believed."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from proofsweep.catalog.checksums.declared_files import DeclaredFile, DeclaredFiles


@pytest.fixture
def files() -> Iterator[DeclaredFiles]:
    """No list yet."""
    with closing(DeclaredFiles()) as made:
        yield made


def test_two_forms_of_unicode_name_one_file(files: DeclaredFiles) -> None:
    """A list that was made on a Mac decomposes its letters; bytes that are no text are kept."""
    files.add([DeclaredFile("u\u0308.wav", "md5", "1"), DeclaredFile("\udc81.wav", "md5", "2")])

    assert files.digests_of("\u00fc.wav") == {"md5": "1"}
    assert files.digests_of("\udc81.wav") == {"md5": "2"}


def test_nothing_is_kept_of_a_list_that_breaks_off(files: DeclaredFiles) -> None:
    """Its last line may be cut, and its end is not known."""

    def broken() -> Iterator[DeclaredFile]:
        for number in range(3_000):
            yield DeclaredFile(f"{number}.wav", "md5", "1")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        files.add(broken())

    assert files.digests_of("0.wav") == {}
