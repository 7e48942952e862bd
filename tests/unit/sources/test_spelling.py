"""A written name finds what is there under another spelling, and never by a guess."""

from unicodedata import normalize

import pytest

from proofsweep.sources.spelling import FolderNames, KnownPaths, Match, Spellings, loose, match_of

NFC, NFD = normalize("NFC", "é"), normalize("NFD", "é")


@pytest.mark.parametrize(
    ("written", "there"),
    [
        (f"{NFC}.wav", f"{NFD}.wav"),
        ("Lied EINS.WAV", "lied eins.wav"),
        ("Straße.wav", "STRASSE.WAV"),
        ("a.wav ", "a.wav"),
        (" a.wav", "a.wav"),
        ("a.wav\u00a0", "a.wav"),
        ("a\u200bb.wav", "ab.wav"),
        ("a\u00a0b.wav", "a b.wav"),
        ("a  b.wav", "a b.wav"),
        ("a.wav.", "a.wav"),
        ("Album./a.wav", "Album/a.wav"),
        ("Warum?.wav", "Warum\uf025.wav"),
        ("Warum?.wav", "Warum\uf03f.wav"),
        ("A:B.wav", "A\uf022B.wav"),
        ("Ende\uf028/a.wav", "Ende/a.wav"),
        ("AC/DC/a.wav", "AC:DC/a.wav"),
    ],
)
def test_what_programs_do_to_names_is_seen_through(written: str, there: str) -> None:
    """Archives change the form of Unicode, spreadsheets add blanks, and file servers exchange letters."""
    assert match_of(written, [there]) == Match(there)
    assert loose(written) == loose(there)


@pytest.mark.parametrize("names", [("a.wav", "b.wav"), ("a.wav", "a.mp3"), ("a1.wav", "a 1.wav"), ("...", "..")])
def test_other_names_stay_other_names(names: tuple[str, str]) -> None:
    """Blanks between words tell names apart, and endings do."""
    assert loose(names[0]) != loose(names[1])


@pytest.mark.parametrize(
    ("written", "there", "expected"),
    [
        ("a.wav", ["a.wav", "A.wav"], Match("a.wav")),
        ("a.WAV", ["a.wav", "A.wav"], Match(several=("A.wav", "a.wav"))),
        (f"{NFC}.wav", [f"{NFD}.wav", f"{NFD}.WAV"], Match(f"{NFD}.wav")),
        ("A.wav ", ["a.wav", "A.wav"], Match(several=("A.wav", "a.wav"))),
        ("b.wav", [], Match()),
    ],
)
def test_the_strictest_way_that_finds_one_decides(written: str, there: list[str], expected: Match) -> None:
    """Of several that are alike, all are told, and none is taken."""
    assert match_of(written, there) == expected
    assert KnownPaths(there).match(written) == expected


def tree(**folders: list[str]) -> Spellings:
    """Walk in folders that are given by their names below `/top`; others cannot be listed."""
    known = {f"/top/{name}": FolderNames(dict.fromkeys(names)) for name, names in folders.items()}
    known["/top"] = FolderNames(dict.fromkeys(folders))
    return Spellings(known.get)


def test_each_folder_of_a_path_may_be_spelled_otherwise() -> None:
    """A folder that cannot be listed is taken as it is written."""
    spellings = tree(Alba=["Eins.wav"], ALBA=["zwei.wav"])

    assert spellings.match("/top/alba/eins.wav", "/top") == Match("/top/Alba/Eins.wav")
    assert spellings.match("/top/alba/zwei.wav", "/top") == Match("/top/ALBA/zwei.wav")
    assert spellings.match("/elsewhere/a.wav", "/elsewhere").location == "/elsewhere/a.wav"


def test_a_slash_may_be_a_colon_in_the_name_of_a_folder() -> None:
    """A Mac shows the one, and its disk has the other."""
    assert tree(**{"AC:DC": ["a.wav"]}).match("/top/AC/DC/a.wav", "/top") == Match("/top/AC:DC/a.wav")


def test_the_nearest_name_is_told_of_the_first_part_that_is_not_there() -> None:
    """Equal endings make no name near, and the audio of a missing sidecar is no other name of it."""
    spellings = tree(Alba=["Lied 01.wav", "Other.wav"])

    assert spellings.match("/top/Alba/Lied 1.wav", "/top").words == (
        " There is no 'Lied 1.wav'; the nearest is 'Lied 01.wav'."
    )
    assert spellings.match("/top/Albaa/Lied 1.wav", "/top").words == " There is no 'Albaa'; the nearest is 'Alba'."
    assert spellings.match("/top/Alba/x.wav", "/top").words == ""
    assert spellings.match("/top/Alba/Other.wav.sidecar", "/top").words == ""


def test_a_list_of_wrong_names_takes_no_night() -> None:
    """After so many comparisons, nothing is near any more."""
    spellings = tree(Alba=[f"{number:05}.wav" for number in range(500)])

    told = [spellings.match(f"/top/Alba/{number:05}a.wav", "/top").nearest for number in range(400)]

    assert told[:2] == ["00000.wav", "00001.wav"]
    assert told[-1] is None
