"""Paths of another machine lead to files of this one."""

import pytest

from proofsweep.sources.cell_locations import MapHints, PathMaps

MAPS = PathMaps(
    [("D:\\Musik", "/mnt/musik"), ("d:/musik/Alba/", "s3://alba"), (r"\\nas\audio", "/mnt/nas/"), ("/Volumes/M", "/m")]
)


@pytest.mark.parametrize(
    ("written", "mapped"),
    [
        (r"D:\Musik\x\a.wav", "/mnt/musik/x/a.wav"),
        ("d:/MUSIK/x/a.wav", "/mnt/musik/x/a.wav"),
        (r"D:\Musik\alba\a b.wav", "s3://alba/a b.wav"),
        (r"D:\Musik", "/mnt/musik"),
        (r"D:\Musikalien\a.wav", r"D:\Musikalien\a.wav"),
        (r"E:\Musik\a.wav", r"E:\Musik\a.wav"),
        (r"\\NAS\audio\x\a.wav", "/mnt/nas/x/a.wav"),
        ("/Volumes/M/a\\b.wav", "/m/a\\b.wav"),
        ("x/a.wav", "x/a.wav"),
    ],
)
def test_the_longest_beginning_that_fits_is_replaced(written: str, mapped: str) -> None:
    """In any case and with any slash, at the end of a name; a POSIX path keeps its backslashes."""
    assert MAPS.mapped(written) == mapped


def test_a_drive_alone_may_be_mapped() -> None:
    """With and without the slash."""
    for written in ("D:", "D:\\"):
        assert PathMaps([(written, "/mnt")]).mapped("D:\\x\\a.wav") == "/mnt/x/a.wav"


def test_a_hint_names_the_map_under_which_the_file_is_there() -> None:
    """Once one was found for a drive, all its rows have it, and nothing more is looked for."""
    looked: list[str] = []

    def is_there(location: str) -> bool:
        looked.append(location)
        return location == "/mnt/musik/Alba/a.wav"

    hints = MapHints("/mnt/musik", is_there)

    assert r"give --path-map 'D:\Archiv\Musik=/mnt/musik'" in hints.hint(r"D:\Archiv\Musik\Alba\a.wav")
    assert r"'D:\Archiv\Musik=/mnt/musik'" in hints.hint(r"D:\other.wav")
    assert len(looked) == 3


@pytest.mark.parametrize(
    ("written", "given"),
    [
        (r"D:\Musik\Alba\a.wav", r"D:\Musik=FOLDER"),
        (r"D:\a.wav", "D:=FOLDER"),
        (r"\\nas\x\y\a.wav", r"\\nas\x\y=FOLDER"),
    ],
)
def test_a_hint_says_how_a_map_is_written(written: str, given: str) -> None:
    """Where no file is found, the person knows the folder; a bucket is not asked."""
    for root in ("/mnt", "s3://bucket"):
        assert f"give --path-map '{given}'" in MapHints(root, lambda _: False).hint(written)


def test_guessing_ends() -> None:
    """A million rows of a drive that is not here cost no million look-ups."""
    looked: list[str] = []

    hints = MapHints("/mnt", lambda location: bool(looked.append(location)))
    for number in range(100):
        hints.hint(f"D:\\{number}.wav")

    assert len(looked) == 20
