"""Letters to suppliers."""

from pathlib import Path

import pytest

from proofsweep.answers.letter_texts import letter_texts
from proofsweep.answers.letters import LetterEntry, entries_of, letters_of, write_letters
from proofsweep.errors import ResultsError, UsageError
from proofsweep.model.tables.columns import Row

from ..ended_runs import plan_of_run

TEXTS = letter_texts()
PLAN = plan_of_run("20261116T100000Z_a", 3)


def delivered(audio: str, reason: str, **cells: object) -> LetterEntry:
    """Return an entry of a row of the table `ingest`, as far as it is read here."""
    common = {"audio": audio, "watched": "/in", "supplier": "acme", "audio_sha256": "aa", "tags": None}
    return LetterEntry.of_delivered(common | {"reason": reason} | cells)


def verified(audio: str, reason: str, tags: str | None = None) -> Row:
    """Return a row of the table `verdicts`, as far as it is read here."""
    return {"audio": f"/music/{audio}", "relative_path": audio, "reason": reason, "tags": tags, "audio_sha256": None}


DUE = [
    delivered("/in/acme/bad.wav", "tampered"),
    delivered("/in/acme/big.wav", "too_large", audio_sha256=None),
    delivered("/in/zeta/x`y\n.wav", "unregistered", supplier="ze/ta"),
]


def test_each_supplier_gets_a_letter_about_its_own_files() -> None:
    """Each file stands under what is wrong with it; our folders and our words for reasons are not there."""
    letters = letters_of(DUE, TEXTS)

    assert set(letters) == {"acme", "ze/ta"}
    assert letters["acme"].startswith("# Files from acme\n")
    assert "- `acme/bad.wav` (SHA-256 aa)" in letters["acme"]
    assert "- `acme/big.wav`\n" in letters["acme"]
    assert "65 MiB" in letters["acme"]
    assert not [word for word in ("/in/", "too_large", "tampered", "reject") if word in letters["acme"]]
    assert "- `zeta/x'y\\n.wav` (SHA-256 aa)" in letters["ze/ta"]


def test_letters_are_files_that_overwrite_nothing(tmp_path: Path) -> None:
    """A supplier's name is no path; a letter that is there stays as it is, and is whole."""
    folder = tmp_path / "letters"
    names = write_letters(str(folder), "r1-001", DUE, TEXTS)
    (folder / "acme-r1-001.md").write_text("with a word by hand")

    again = write_letters(str(folder), "r1-001", DUE, TEXTS)

    assert [Path(name).name.partition("-")[0] for name in names] == ["acme", "ze_ta"]
    assert {str(path) for path in folder.iterdir()} == set(names) == set(again)
    assert (folder / "acme-r1-001.md").read_text() == "with a word by hand"


def test_letters_that_cannot_be_written_are_one_line(tmp_path: Path) -> None:
    """The folder's name is a file's."""
    (tmp_path / "letters").write_bytes(b"")

    with pytest.raises(ResultsError, match="letters cannot be written"):
        write_letters(str(tmp_path / "letters"), "r1-001", DUE, TEXTS)


def test_a_letter_names_the_track_where_the_delivery_does() -> None:
    """By its ISRC and its title, which cannot forge a line."""
    tags = '{"batch": "B1", "isrc": "QZABC2600001", "title": "A *song*"}'
    letter = letters_of([delivered("/in/B1/r1/a.wav", "tampered", tags=tags)], TEXTS)["acme"]

    assert "- `B1/r1/a.wav`: ISRC QZABC2600001, “A \\*song\\*” (SHA-256 aa)\n" in letter


def test_rows_of_a_run_are_told_to_the_supplier_of_a_tag() -> None:
    """What is our own fault, or the service's, is told to nobody; files without the tag share a letter."""
    rows = [
        verified("a.wav", "unreadable", '{"Label": "north"}'),
        verified("b.wav", "source_forbidden", '{"Label": "north"}'),
        verified("c.wav", "empty"),
    ]

    letters = letters_of(entries_of([(PLAN, row) for row in rows], "label", is_required=True), TEXTS)

    assert set(letters) == {"north", ""}
    assert "- `a.wav`" in letters["north"]
    assert letters[""].startswith("# Files that we received\n")


def test_a_tag_that_no_row_has_is_refused() -> None:
    """It is probably misspelt; but if there is no row at all, there is nothing to say."""
    rows = [(PLAN, verified("a.wav", "unreadable", '{"label": "north"}'))]

    with pytest.raises(UsageError, match="did you mean label"):
        list(entries_of(rows, "labl", is_required=True))
    assert list(entries_of([], "labl", is_required=True)) == []
