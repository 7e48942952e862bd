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


def test_a_file_has_a_digest_of_each_algorithm(files: DeclaredFiles) -> None:
    """From one list or from several."""
    assert files.add([DeclaredFile("a.wav", "md5", "1"), DeclaredFile("b.wav", "md5", "2")]) == 2
    files.add([DeclaredFile("a.wav", "sha1", "3"), DeclaredFile("a.wav", "md5", "1")])

    assert files.digests_of("a.wav") == {"md5": "1", "sha1": "3"}
    assert files.digests_of("c.wav") == {}
    assert files.contradictions() == 0


def test_lists_that_contradict_each_other_are_not_believed(files: DeclaredFiles) -> None:
    """An old list beside a new one says nothing of damage, however often it is repeated."""
    for digest in ("1", "2", "1"):
        files.add([DeclaredFile("a.wav", "md5", digest)])

    assert files.digests_of("a.wav") == {}
    assert files.contradictions() == 1


def test_a_list_that_a_person_names_goes_first(files: DeclaredFiles) -> None:
    """What else lies beside the audio may be old."""
    files.add([DeclaredFile("a.wav", "md5", "1", is_named=True)])
    files.add([DeclaredFile("a.wav", "md5", "2")])

    assert files.digests_of("a.wav") == {"md5": "1"}
    assert files.contradictions() == 0


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


def test_files_of_bags_are_missing_until_they_are_seen(files: DeclaredFiles) -> None:
    """Those of other lists are not: an old list is no delivery."""
    for algorithm in ("md5", "sha1"):
        files.add([DeclaredFile(f"b/data/{name}", algorithm, "1", bag="b") for name in ("x", "y", "z\udc81")])
    files.add([DeclaredFile("c", "md5", "1")])

    files.note_seen(["b/data/y", "other"])

    assert list(files.missing()) == [("b/data/x", "b"), ("b/data/z\udc81", "b")]
