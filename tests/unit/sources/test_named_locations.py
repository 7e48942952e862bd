"""What senders mean by a location."""

from itertools import islice

import pytest

from proofsweep.sources.ddex_files import below, candidates, leads_up


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("resources/a.wav", "resources/a.wav"),
        ("./a.wav", "./a.wav"),
        ("a.wav", "resources/a.wav"),
        ("resources/a.wav", "a.wav"),
        ("resources\\a.wav", "resources/a.wav"),
        ("resources/a%20b.wav", "resources/a b.wav"),
        ("resources%2Fa.wav", "resources/a.wav"),
        ("100%.wav", "100%.wav"),
        ("sftp://host/drop/111/resources/a%20b.wav", "resources/a b.wav"),
        ("https://host/a.wav?signature=x", "a.wav"),
        ("file:///a.wav", "a.wav"),
        ("/mnt/export/a.wav", "resources/a.wav"),
        ("C:\\export\\a.wav", "a.wav"),
        ("../other/a.wav", "../other/a.wav"),
    ],
)
def test_location_means_a_path(written: str, meant: str) -> None:
    """It may be written as a URI, as Windows does, or as on the sender's machine."""
    assert meant in candidates(written)


@pytest.mark.parametrize("written", ["../a.wav", "%2e%2e/a.wav", "..\\a.wav", "resources/../../a.wav"])
def test_what_leads_up_is_known(written: str) -> None:
    """However it is written; it is not looked for in the folder of resources."""
    assert leads_up(written)
    assert not leads_up("resources/a.wav")
    assert (
        below("/b/r", next(path for path in candidates(written) if below("/b/r", path) != f"/b/r/{path}")) == "/b/a.wav"
    )


def test_likeliest_comes_first() -> None:
    """What is written goes before what may be meant."""
    assert list(islice(candidates("a%20b.wav"), 2)) == ["a%20b.wav", "resources/a%20b.wav"]
    assert list(candidates("")) == []


@pytest.mark.parametrize(
    ("folder", "path", "location"),
    [
        ("/b/r", "./x//a.wav", "/b/r/x/a.wav"),
        ("/b/r", "../../../../etc/passwd", "/etc/passwd"),
        ("s3://bucket/b/r", "../x/./a.wav", "s3://bucket/b/x/a.wav"),
        ("s3://bucket/b", "../../../a.wav", "s3://bucket/a.wav"),
        ("/b/r", "x/../a.wav", "/b/r/a.wav"),
    ],
)
def test_path_lies_below_a_folder(folder: str, path: str, location: str) -> None:
    """A bucket ends at its root, as a disk does."""
    assert below(folder, path) == location
