"""Totals and notes below a list are no rows; a missing file is one, wherever it stands."""

from pathlib import Path

import pytest

from proofsweep.config.sections import CatalogSettings
from proofsweep.files.folder_listing import Cause
from proofsweep.sources.open_catalog import open_catalog

HEAD = "nr;audio;title;supplier\n1;a.wav;One;Alba\n2;b.wav;Two;Alba\n"


def counted(folder: Path, content: str, name: str = "l.csv") -> tuple[int, int]:
    """Return how many rows a list has, and how many notes below it."""
    (folder / name).write_text(content)
    catalog = open_catalog(str(folder / name))
    return len(list(catalog.rows())), catalog.ignored[Cause.NOTES_BELOW]


@pytest.mark.parametrize(
    "note",
    [
        "Summe;;2;\n",
        "Total: 2 tracks;;;\n",
        ";Summe;2;12,50 EUR\n",
        ";Stand: 28.11.2026;;\n",
        "as of November;;;\n",
        "\n;;;\nGesamt;;2;\n\nas of November;;;\n",
    ],
)
def test_a_note_below_the_list_is_counted_and_not_judged(tmp_path: Path, note: str) -> None:
    """Whichever column it stands in; empty rows may come between."""
    notes = sum(bool(line.strip(";")) for line in note.splitlines())

    assert counted(tmp_path, HEAD + note) == (2, notes)


@pytest.mark.parametrize(
    "row",
    [
        "3;;Three;Alba\n",
        ";;;Alba\n",
        "3;;Three;\n",
        ";gone.wav;;\n",
        ";music/Summe;;\n",
        "Alba;;;\n3;c.wav;Three;Alba\n",
        "Summer;;2;\n3;c.wav;Three;Alba\n",
    ],
)
def test_a_missing_file_is_a_row_also_at_the_end(tmp_path: Path, row: str) -> None:
    """It has a supplier, most of its cells, or the name of a file; and nothing above a row stands below the list."""
    rows, notes = counted(tmp_path, HEAD + row)

    assert (rows, notes) == (2 + row.count("\n"), 0)


def test_a_subtotal_between_rows_is_counted_and_not_judged(tmp_path: Path) -> None:
    """One of a file that is not there has a supplier, a title or a name of its own, and is a row."""
    rows = f"{HEAD}Zwischensumme Alba;;2;\n3;c.wav;Three;Nord\n;Subtotal;1;\n4;d.wav;Four;Nord\nSumme;;4;\n"

    assert counted(tmp_path, rows) == (4, 3)


def test_a_file_that_is_there_is_a_row_whatever_its_name_is(tmp_path: Path) -> None:
    (tmp_path / "Summe").write_bytes(b"RIFF")

    assert counted(tmp_path, f"{HEAD};Summe;;\n") == (3, 0)


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("audio,title\n,One\n", "l.csv"),
        ("audio,title,x,y\n,One,,\n,Two,,\n", "l.csv"),
        ("audio;id\na.wav;1\n;2\n", "l.csv"),
        ('{"audio": "a.wav", "x": 1, "y": 2}\n{"audio": "", "x": 1, "y": null}\n', "l.jsonl"),
        ("audio;a;b;c\nx.wav;1;2;3\n" + ";1;;\n" * 200, "l.csv"),
    ],
)
def test_a_list_without_audio_is_no_list_of_notes(tmp_path: Path, content: str, name: str) -> None:
    """Without a row above it nothing is below the list, and hundreds of rows are no notes."""
    lines = content.count("\n") - (name == "l.csv")

    assert counted(tmp_path, content, name) == (lines, 0)


def test_what_a_person_has_excluded_is_no_row_of_a_list(tmp_path: Path) -> None:
    """Of a manifest, and of what a list of checksums names; a name may be given as it is, with its brackets."""
    for name in ("a.wav", "x [live].wav"):
        (tmp_path / name).write_bytes(b"RIFF")
    (tmp_path / "MD5SUMS").write_text("".join(f"{'0' * 32}  {name}\n" for name in ("a.wav", "gone.flac", "gone.wav")))
    (tmp_path / "l.csv").write_text("audio\na.wav\nold/b.wav\nc_preview.wav\nx [live].wav\nx l.flac\n")
    excluded = CatalogSettings(exclude=["old", "*_preview.*", "x [live].wav", "x [l].flac"])
    listed = open_catalog(str(tmp_path / "l.csv"), excluded)
    scanned = open_catalog(str(tmp_path), CatalogSettings(exclude=["*.flac", "x [[]live].wav"]))

    rows = [[row.named_audio for row in catalog.rows()] for catalog in (listed, scanned)]

    assert rows == [["a.wav"], ["a.wav", "gone.wav"]]
    assert [catalog.ignored[Cause.EXCLUDED] for catalog in (listed, scanned)] == [4, 2]
