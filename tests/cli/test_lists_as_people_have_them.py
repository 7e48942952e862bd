"""Lists as spreadsheets and suppliers write them: titles, empty rows, quotes and numbers."""

import time
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from openpyxl import Workbook  # type: ignore[import-untyped]  # it has none

from .conftest import Command, Planned


@pytest.fixture
def music(workdir: Path) -> Path:
    """The working folder, with audio of three songs and their sidecars."""
    for name in ("a.wav", "b.wav", "c.wav"):
        (workdir / name).write_bytes(b"RIFF")
        (workdir / f"{name}.sidecar").write_bytes(b"proof")
    return workdir


@pytest.mark.parametrize("name", ["l.csv", "l.xlsx"])
def test_titles_above_the_header_are_no_rows(
    music: Path, planned: Planned, proofsweep: Command, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first row with the columns is the header, also under other names."""
    rows = [["Catalogue"], [], ["Datei", "Titel"], ["a.wav", "x"], ["audio", "Titel"], ["b.wav", "y"], ["c.wav", "z"]]
    listed = music / name
    if name == "l.csv":
        listed.write_text("".join(";".join(row) + "\n" for row in rows))
    else:
        book = Workbook()
        for row in rows:
            book.active.append(row)
        book.save(listed)

    assert planned(listed)["items"] == 2
    monkeypatch.setenv("PROOFSWEEP_CATALOG__COLUMNS__AUDIO", "Datei")
    assert planned(listed)["items"] == 4
    monkeypatch.setenv("PROOFSWEEP_CATALOG__COLUMNS__AUDIO", "Pfad")
    wrong = proofsweep("plan", listed)
    assert (wrong.returncode, "no column is named Pfad" in wrong.stderr) == (2, True)


def test_empty_rows_are_counted_and_sent_nowhere(music: Path, planned: Planned) -> None:
    """Excel fills a CSV with them; `sep=` is none of its rows either."""
    (music / "l.csv").write_text("sep=;\naudio;sidecar;title\na.wav;;\n;;\nb.wav;;x\n ; ;\n")

    found = planned(music / "l.csv")

    assert (found["items"], found["eligible"], found["ignored"]) == (2, 2, {"empty_rows": 2})


def test_quotes_between_tabs_are_letters_if_they_do_not_balance(music: Path, planned: Planned) -> None:
    """No row is swallowed: each line is one. A cell that is quoted as a whole is read as such."""
    names = ["a.wav", '"Heroes" (2017).wav', '"Weird.wav']
    for name in names[1:]:
        (music / name).write_bytes(b"RIFF")
    lines = [
        "audio\ttitle\tnote",
        'a.wav\t"Heroes\tWAV',
        f"{names[1]}\tThree\tWAV",
        f'{names[2]}\tMix 12\t"of ""12"""',
    ]
    lines += ['c.wav\t"open\tat the end']
    (music / "l.tsv").write_text("\n".join(lines))

    found = planned(music / "l.tsv")
    assert (found["items"], found["eligible"]) == (4, 4)
    titles = ["'\"Heroes'", "'Three'", "'Mix 12'", "'\"open'"]
    assert planned(music / "l.tsv", "--where", f"title IN ({', '.join(titles)})")["items"] == 4
    assert planned(music / "l.tsv", "--where", "note = 'of \"12\"'")["items"] == 1


def test_no_value_of_a_tag_ends_in_a_traceback(music: Path, planned: Planned) -> None:
    """Each has a text; what says nothing is empty."""
    far = pa.array([10**15, None], pa.timestamp("ms"))
    columns: dict[str, object] = {
        "audio": ["a.wav", "b.wav"],
        "nan": [float("nan"), 1.5],
        "infinite": [float("inf"), -0.0],
        "flag": [True, None],
        "day": [date(2026, 11, 23), None],
        "midnight": pa.array([datetime.fromisoformat("2026-11-23"), None], pa.timestamp("ns")),
        "moment": [datetime.fromisoformat("2026-11-23T06:00"), None],
        "span": [timedelta(seconds=90), None],
        "bytes": [b"\xff\x00", None],
        "list": [[1.0, float("nan"), None], []],
        "map": [{"a": b"\xff", "b": datetime.fromisoformat("2026-11-23")}, None],
        "amount": [Decimal("1.50"), Decimal(0)],
        "nothing": pa.nulls(2),
        "far": far,
        "empty": ["", "  "],
    }
    pq.write_table(pa.table(columns), music / "l.parquet")
    known = {"flag": "true", "day": "2026-11-23", "midnight": "2026-11-23", "moment": "2026-11-23T06:00:00"}
    known |= {"amount": "1.5", "infinite": "inf"}
    holds = " AND ".join(f"\"{name}\" = '{value}'" for name, value in known.items())

    assert planned(music / "l.parquet")["eligible"] == 2
    assert planned(music / "l.parquet", "--where", f'{holds} AND "nan" IS NULL AND "bytes" IS NULL')["items"] == 1
    assert planned(music / "l.parquet", "--where", "coalesce(nothing, empty) IS NULL")["items"] == 2
    assert planned(music / "l.parquet", "--where", "\"nan\" = '1.5' AND infinite = '0'")["items"] == 1


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    def change(name: str) -> None:
        monkeypatch.setenv("TZ", name)
        time.tzset()

    yield change
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("CET-1CEST,M3.5.0,M10.5.0/3", "05:00:00 UTC"),
        ("<+03>-3", "03:00:00 UTC"),
        ("Europe/Berln", "TZ"),
        ("Berlin", "TZ"),
    ],
)
def test_a_zone_is_asked_for_only_where_a_time_has_none(
    music: Path, proofsweep: Command, zone: Callable[[str], None], name: str, says: str
) -> None:
    """Any command plans without one; one of POSIX is known, and an unknown one is a line that says what to do."""
    zone(name)

    assert proofsweep("plan", music).returncode == 0
    assert proofsweep("plan", music, "--until", "06:00 Europe/Berlin").returncode == 0
    assert proofsweep("plan", music, "--until", "7h").returncode == 0
    assert proofsweep("plan", music, "--newer-than", "2020-01-01T00:00Z").returncode == 0
    for option, moment in (("--until", "2020-01-10T06:00"), ("--newer-than", "2020-01-01")):
        done = proofsweep("plan", music, option, moment)
        if says == "TZ":
            assert (done.returncode, done.stdout) == (2, "")
            assert done.stderr.startswith("proofsweep: This machine does not know its time zone (TZ begins with ")
            assert len(done.stderr.splitlines()) == 1
        elif option == "--until":
            assert f"closed at 2020-01-10 {says}" in done.stderr
        else:
            assert done.returncode == 0


def test_a_plan_says_what_a_person_does_not_see_in_a_workbook(music: Path, proofsweep: Command) -> None:
    """Which row is the header, what is hidden, which sheets are not read; and what is left out, by its kind."""
    book = Workbook()
    sheet = book.active
    for cells in (["", "Audio", "", "Names"], ["nr", "path", "sidecar", "title"], ["1", "a.wav", "=B9", "#REF!"]):
        sheet.append(cells)
    for cells in (["2", "b.wav", None, "Two"], ["Summe", None, None, 2]):
        sheet.append(cells)
    sheet.row_dimensions[4].hidden = True
    book.create_sheet("Old").append(["audio"])
    book.save(music / "l.xlsx")

    done = proofsweep("plan", music / "l.xlsx")

    assert (done.returncode, done.stderr) == (0, "")
    for words in (
        "2 rows",
        "l.xlsx: row 2 is taken for the header",
        "hidden in the sheet, and read like the others: 1 row",
        "not read are the sheets Old",
        "1 ineligible · cell_error",
        "ignored: 1 notes below, 1 error cells",
    ):
        assert words in done.stdout
