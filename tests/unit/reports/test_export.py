"""Exported rows feed back as a manifest, whatever their names are."""

import csv
import json
from contextlib import AbstractContextManager
from datetime import date
from pathlib import Path
from typing import IO

import pyarrow.parquet as pq
import pytest

from proofsweep.config.locations import new_file
from proofsweep.domain.errors import UsageError
from proofsweep.domain.runs import OUTCOMES
from proofsweep.domain.tags import key_of_value
from proofsweep.operations.erase import read_proof_list
from proofsweep.queries.selected_rows import SelectedRows
from proofsweep.reports.export import Target, WrittenReport, export
from proofsweep.reports.languages import Language, Languages, language_named
from proofsweep.reports.letters import letter_to, name_for_supplier
from proofsweep.sources.workbook import sheet_rows
from proofsweep.store.parts import Results

from ...worlds.ended_runs import answered, end_leg, plan_of_run

HOSTILE = [
    *("=1+1", "+49", "-5", "@SUM(A1)", "'=x", "'74", "a,b", 'say "x"', "a\nb", "a\r\nb", "\t=1", " padded "),
    *("ünï", "<script>", "\u202etxt.wav", "x;=cmd()", "\\xff", "~", "#", "a=b", "＝1"),  # noqa: RUF001
]
TODAY = date(2026, 11, 29)
ENGLISH, GERMAN = language_named("en"), language_named("de")
FOR_SUPPLIERS = Languages.of({})
PLAN = plan_of_run("20261116T100000Z_a", len(HOSTILE), catalog_root="file:///c")


def store_of(results: Results, *tags: dict[str, str]) -> SelectedRows:
    rows = [
        answered(PLAN, row, name, "rejected", reason="tampered", audio=f"/c/{name}", sidecar=f"/c/{name}.proof")
        | {"tags": json.dumps(tags[row % len(tags)])}
        for row, name in enumerate(HOSTILE)
    ]
    end_leg(results, PLAN, rows)
    return SelectedRows.of(results, PLAN.run_id, "")


def exported(
    selected: SelectedRows, path: Path | str, by: str | None = None, languages: Languages | None = None
) -> list[WrittenReport]:
    target = Target.of(str(path), None, "report")
    return export(selected, OUTCOMES, target, today=TODAY, by=by, languages=languages)


def cells_of(path: Path) -> list[list[str]]:
    if path.suffix == ".xlsx":
        with path.open("rb") as file:
            return [[cell or "" for cell in cells] for _, cells in sheet_rows(file)]
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file))


def test_a_workbook_holds_text(tmp_path: Path, results: Results) -> None:
    """Also what looks like a formula, a number or a date."""
    tags = [{"supplier": "=A1", "UPC": "0012345678905"}, {"+x": "'=y", "Date": "2026-11-20"}]
    end_leg(results, PLAN, [answered(PLAN, row, f"=i{row}", tags=json.dumps(tags[row])) for row in range(2)])

    exported(SelectedRows.of(results, PLAN.run_id, ""), tmp_path / "all.xlsx")

    with (tmp_path / "all.xlsx").open("rb") as file:
        (_, header), *rows = sheet_rows(file)
    cells = [dict(zip(header, row, strict=True)) for _, row in rows]
    assert [(row["audio"], row["id"]) for row in cells] == [(f"/c/=i{row}", f"=i{row}") for row in range(2)]
    assert [{name: row[name] for name in tags[number]} for number, row in enumerate(cells)] == tags


def test_programs_read_cells_with_their_types(tmp_path: Path, results: Results) -> None:
    """A tag with the name of one of the report's own columns has another."""
    selected = store_of(results, {"supplier": "Nord", "outcome": "theirs"})

    for ending in ("json", "parquet"):
        exported(selected, tmp_path / f"all.{ending}")

    rows, table = json.loads((tmp_path / "all.json").read_text()), pq.read_table(tmp_path / "all.parquet")
    first = rows[0]
    assert (first["outcome"], first["tag_outcome"], first["supplier"], first["id"]) == (
        *("rejected", "theirs", "Nord", HOSTILE[0]),
    )
    assert table.num_rows == len(rows) == len(HOSTILE)
    assert table.schema.names == list(first)
    assert [str(table.schema.field(name).type) for name in ("audio_bytes", "finished_at", "tag_outcome")] == [
        *("int64", "timestamp[us, tz=UTC]", "string"),
    ]


def test_each_value_of_a_tag_gets_a_file(tmp_path: Path, results: Results) -> None:
    """Rows without the tag too; values that differ in case are one, and no value leads out of the folder.

    Two spellings of the tag are one column.
    """
    tags = [{"by": value} if value else {"x": "1"} for value in ("Nord", "nord", "../up", "", "no-by")]
    tags[1] = {"By": "nord"}
    (tmp_path / "out").mkdir()

    done = exported(store_of(results, *tags), tmp_path / "out" / "r.csv", "BY")

    names = sorted(report.path.name for report in done)
    assert len({name.lower() for name in names}) == 4
    assert {"r-nord.csv", "r-no-by.csv"} < set(names)
    assert sum(report.rows for report in done) == len(HOSTILE)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == names
    with (tmp_path / "out" / "r-nord.csv").open(encoding="utf-8-sig", newline="") as file:
        assert next(csv.reader(file))[1:3] in (["by", "x"], ["By", "x"])


def test_no_file_is_overwritten(tmp_path: Path, results: Results) -> None:
    """Also not one of several, and then none of them is written."""
    (tmp_path / "r-b.csv").write_text("mine")

    with pytest.raises(UsageError, match=r"r-b.csv exists already"):
        exported(store_of(results, {"by": "a"}, {"by": "b"}), tmp_path / "r.csv", "by")

    assert [path.read_text() for path in tmp_path.glob("*.csv")] == ["mine"]


def test_files_of_several_values_are_written_all_or_none(
    tmp_path: Path, results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was written before an error is taken back: else it would stand in the way of the next try."""
    begun: list[Path] = []

    def broken_second(path: Path) -> AbstractContextManager[IO[bytes]]:
        begun.append(path)
        if len(begun) > 1:
            raise UsageError("the disk is full")
        return new_file(path)

    monkeypatch.setattr("proofsweep.reports.export.new_file", broken_second)

    with pytest.raises(UsageError, match="the disk is full"):
        exported(store_of(results, {"by": "a"}, {"by": "b"}), tmp_path / "r.csv", "by")

    assert [path.name for path in begun] == ["r-a.csv", "r-b.csv"]
    assert not [path for path in begun if path.exists()]


@pytest.mark.parametrize(
    ("file", "given", "path", "form"),
    [
        (None, None, "report.csv", "csv"),
        (None, "Letter", "report.txt", "letter"),
        ("night.CSV", None, "night.CSV", "csv"),
        ("night.xlsx", None, "night.xlsx", "xlsx"),
        ("night.json", "json", "night.json", "json"),
        ("week-48/", None, "week-48/report.csv", "csv"),
        ("week-48/", "parquet", "week-48/report.parquet", "parquet"),
        (".", "xlsx", "report.xlsx", "xlsx"),
    ],
)
def test_format_and_name_fit(file: str | None, given: str | None, path: str, form: str) -> None:
    """The format decides, else the ending; a folder gets a file with a name of ours."""
    target = Target.of(file, given, "report")

    assert (target.path, target.form) == (Path(path), form)


@pytest.mark.parametrize(
    ("file", "given", "words"),
    [
        ("night.csv", "xlsx", "--format xlsx writes files that end in .xlsx, and --file night.csv does not"),
        ("list.txt", "csv", "name it list.csv"),
        ("letters.csv", "letter", "name it letters.txt"),
        ("report", "json", "name it report.json"),
        ("report", None, "The ending of --file report says no format: end it in .csv, .xlsx, .json, .parquet or .txt"),
        ("list.csv.gz", None, "The ending of --file list.csv.gz says no format"),
        ("x" * 5_000, None, "says no format"),
        ("a.csv", "parquett", r"cannot be written as 'parquett' \(did you mean parquet\?\)"),
    ],
)
def test_a_name_of_another_format_is_refused(file: str, given: str | None, words: str) -> None:
    """Nobody opens a workbook that is named as CSV, or mails a list that is named as a letter."""
    with pytest.raises(UsageError, match=words):
        Target.of(file, given, "report")


def test_files_lie_in_a_folder_that_is_made(tmp_path: Path, results: Results) -> None:
    """The folder above must be there: else its name is mistyped."""
    selected = store_of(results, {"by": "A/B"}, {"by": "..c"})

    done = exported(selected, f"{tmp_path}/week-48/", "by")
    with pytest.raises(UsageError, match="cannot be made: No such file or directory"):
        exported(selected, f"{tmp_path}/no/week-48/", "by")

    assert [report.path.parent for report in done] == [tmp_path / "week-48"] * 2
    assert len(list((tmp_path / "week-48").iterdir())) == 2


SPELLINGS = ["Süd Straße", "su\u0308d  strasse ", "SÜD\u00a0STRASSE", "\u200fSüd Straße\u200e"]


def test_a_supplier_has_one_file_of_one_name(tmp_path: Path, results: Results) -> None:
    """However its name is spelled this week: case, blanks, composed letters and marks that nobody sees do not count."""
    target = Target.of(None, None, "report")

    done = exported(store_of(results, *({"by": name} for name in SPELLINGS)), tmp_path / "r.csv", "by")

    assert [report.rows for report in done] == [len(HOSTILE)]
    assert {done[0].path.name} == {
        target.of_value(key_of_value(name), "by").name.replace("report", "r") for name in SPELLINGS
    }


@pytest.mark.parametrize("value", ["../../etc/passwd", "..", "a/b", "CON", "x" * 200, "🎤", "a\nb", "~", "no-by"])
def test_the_name_of_a_supplier_is_one_name_of_a_file(value: str) -> None:
    """It leads into no other folder, and is short enough for any disk."""
    target = Target.of("out/", None, "report")

    path = target.of_value(key_of_value(value), "by")

    assert path.parent == Path("out")
    assert path.name.startswith("report-")
    assert len(path.name.encode()) < 200
    assert path.name.isprintable()
    assert path != target.of_value("", "by")


def test_a_list_for_a_supplier_says_what_a_letter_may_say(tmp_path: Path, results: Results) -> None:
    """No location, ID or column of ours; a file of which the supplier is not told is open."""
    plan = plan_of_run("20261116T100000Z_b", 3, catalog_root="file:///ours")
    tags = json.dumps(
        {"Supplier": "Nord", "Track Title": "Dawn", "ISRC": "QZ1", "margin": "secret", "x_note": "secret"}
    )
    kinds = [("accepted", None), ("rejected", "tampered"), ("failed", "timeout")]
    cells = {"proof_id": "prf_secret", "verify_request_id": "secret", "detail": "secret", "tags": tags}
    rows = [
        answered(plan, row, f"secret{row}", outcome, reason=reason, audio=f"/ours/in/{row}.wav")
        | {"relative_path": f"in/{row}.wav"}
        | cells
        for row, (outcome, reason) in enumerate(kinds)
    ]
    end_leg(results, plan, rows)
    selected = SelectedRows.of(results, plan.run_id, "")

    for ending in ("csv", "json", "xlsx", "parquet"):
        exported(selected, tmp_path / f"list.{ending}", "supplier", FOR_SUPPLIERS)
    exported(selected, tmp_path / "internal.csv", "supplier")

    told = cells_of(tmp_path / "list-nord.csv")
    assert told[0] == ["file", "Supplier", "Track Title", "ISRC", "outcome", "what is wrong", "what is needed"]
    assert [row + [""] * (7 - len(row)) for row in cells_of(tmp_path / "list-nord.xlsx")] == told
    assert [(row[0], row[4]) for row in told[1:]] == [
        ("in/0.wav", "accepted"),
        ("in/1.wav", "rejected"),
        ("in/2.wav", "open"),
    ]
    assert f"{told[2][5]} {told[2][6]}" == ENGLISH.problem("tampered").sentences
    assert told[3][6] == "Nothing is needed from you."
    for name in ("list-nord.csv", "list-nord.json"):
        text = (tmp_path / name).read_text("utf-8-sig")
        assert not [word for word in ("secret", "/ours", plan.run_id, "timeout", "margin") if word in text]
    names = ["file", "Supplier", "Track Title", "ISRC", "outcome", "in_words", "what_to_do"]
    assert pq.read_table(tmp_path / "list-nord.parquet").schema.names == names
    assert "prf_secret" in (tmp_path / "internal-nord.csv").read_text("utf-8-sig")


def test_the_proofs_of_a_report_can_be_erased(tmp_path: Path, results: Results) -> None:
    """The report is a list for `proofs erase`; a tag of that name is not."""
    end_leg(results, PLAN, [answered(PLAN, 0, "i", proof_id="p1", tags='{"proof_id": "theirs"}')])

    exported(SelectedRows.of(results, PLAN.run_id, ""), tmp_path / "a.csv")

    assert read_proof_list([], tmp_path / "a.csv").proof_ids == ("p1",)


def test_a_supplier_reads_the_same_words_in_a_letter_and_in_a_list(tmp_path: Path, results: Results) -> None:
    """The letter names no folder of ours and no ID; who has no supplier is in a letter of its own."""
    selected = store_of(results, {"supplier": "Süd"}, {"supplier": ""}, {"SUPPLIER": "Nord", "isrc": "QZ1"})

    letters = exported(selected, tmp_path / "letter.txt", "supplier", FOR_SUPPLIERS)
    exported(selected, tmp_path / "list.csv")

    assert {report.path.name for report in letters} == {
        *("letter-nord.txt", "letter-süd.txt", "letter-no-supplier.txt"),
    }
    written = {each.path.stem.split("-", 1)[1]: each.path.read_text("utf-8") for each in letters}
    assert written["no-supplier"].startswith("Files from an unknown supplier\n")
    assert written["nord"].count(", ISRC QZ1\n") == written["nord"].count("\n   - ") == len(HOSTILE) // 3
    assert not [
        word for word in ("/c/", PLAN.run_id, "tampered", "proof") if word in written["süd"].replace("The proof,", "")
    ]
    with (tmp_path / "list.csv").open(encoding="utf-8-sig", newline="") as file:
        words = {row["for_supplier"] for row in csv.DictReader(file)}
    assert words == {ENGLISH.problem("tampered").sentences}


def test_a_supplier_reads_its_own_language_in_a_letter_and_in_a_list(tmp_path: Path, results: Results) -> None:
    """Programs find the same names and outcomes in each language."""
    languages = Languages.of({"SÜD": "de"})
    selected = store_of(results, {"supplier": "Süd"}, {"supplier": "Nord"})

    for ending in ("txt", "csv", "xlsx", "json"):
        exported(selected, tmp_path / f"all.{ending}", "supplier", languages)

    said = GERMAN.problem("tampered")
    letter = " ".join((tmp_path / "all-süd.txt").read_text("utf-8").split())
    (first, *_) = json.loads((tmp_path / "all-süd.json").read_text())
    header = ["Datei", "supplier", "Ergebnis", "Was nicht stimmt", "Was wir brauchen"]
    assert letter.startswith("Dateien von Süd Datum: 2026-11-29 Zeichen: 20261129-")
    assert (said.in_words in letter, said.request in letter) == (True, True)
    for ending in ("csv", "xlsx"):
        rows = cells_of(tmp_path / f"all-süd.{ending}")
        assert (rows[0], rows[1][2:]) == (header, ["abgelehnt", said.in_words, said.request])
    assert (first["outcome"], first["in_words"]) == ("rejected", said.in_words)
    assert (tmp_path / "all-nord.txt").read_text("utf-8").startswith("Files from Nord\n")


def test_one_supplier_alone_gets_its_file(tmp_path: Path, results: Results) -> None:
    """However its name is spelled; its file has the name that it has among all. A mistyped name is refused."""
    selected = store_of(results, {"by": "Nord"}, {"by": "Süd"}, {"by": ""}, {"a=b": "x"})

    for by in ("by=nord ", "BY=", "a=b"):
        exported(selected, tmp_path / "r.csv", by)
    with pytest.raises(UsageError, match=r"^No file has the by 'Nrd' \(did you mean nord\?\)\.$"):
        exported(selected, tmp_path / "r.csv", "by=Nrd")
    target = Target.of(str(tmp_path / "r.csv"), None, "report")
    nothing = export(selected, ["accepted"], target, today=TODAY, by="by=Nord")

    names = {"r-nord.csv", "r-no-by.csv", "r-no-a_b-42144f39.csv", "r-x.csv"}
    assert {path.name for path in tmp_path.glob("r-*")} == names
    assert {row[1] for row in cells_of(tmp_path / "r-nord.csv")[1:]} == {"Nord"}
    assert nothing == []


def test_a_letter_groups_files_by_what_is_wrong() -> None:
    """What most files have comes first; a name cannot forge a line."""
    found: list[tuple[str, str, dict[str, str]]] = [
        ("b.wav", "tampered", {}),
        ("x\n2. y.wav", "empty", {"ISRC": "QZABC2600001", "Title": "A *song*"}),
        ("c.wav", "empty", {"Titel": "Lied"}),
        ("d.wav", "a_verdict_of_tomorrow", {}),
    ]
    rows = [({"file": name, "audio": name, "reason": reason}, tags) for name, reason, tags in found]

    letter = letter_to("No\nrth", rows, ENGLISH, TODAY)

    assert letter.startswith("Files from No\\nrth\n\nDate: 2026-11-29\nReference: 20261129-")
    assert [line[:28] for line in letter.splitlines() if line[:1].isdigit()] == [
        "1. Please send the file agai",
        "2. Please send the file as i",
        "3. Please send the original,",
    ]
    assert '   - x\\n2. y.wav, ISRC QZABC2600001, "A *song*"\n' in letter
    assert '   - c.wav, "Lied"\n' in letter
    assert letter.index("The file is empty.") < letter.index("   - c.wav") < letter.index("2. Please")
    assert [line.strip() for line in letter.splitlines() if "Files: " in line] == [f"Files: {n}" for n in (4, 2, 1, 1)]


def test_the_reference_of_a_letter_stands_for_its_day_and_its_words() -> None:
    """Written again, a letter has the same one; no other letter of this day has it."""

    def reference(supplier: str, reason: str, today: date = TODAY, language: Language = ENGLISH) -> str:
        letter = letter_to(supplier, [({"file": "a", "audio": "a", "reason": reason}, {})], language, today)
        return letter.splitlines()[3].partition(": ")[2]

    others = [("Nord", "empty"), ("Süd", "tampered"), ("Nord", "tampered", date(2026, 11, 30))]
    assert reference("Nord", "tampered") == reference("Nord", "tampered")
    assert len({reference("Nord", "tampered"), *(reference(*other) for other in others)}) == 4


@pytest.mark.parametrize(
    ("audio", "file", "name"),
    [
        ("/music/acme/a.wav", "acme/a.wav", "acme/a.wav"),
        ("/music/acme/a.wav", "/music/acme/a.wav", "a.wav"),
        ("/other/a.wav", "../other/a.wav", "a.wav"),
        ("s3://ours/in/acme/a.wav", "s3://ours/in/acme/a.wav", "a.wav"),
        ("/music/acme/a.wav", "music/acme/a.wav", "a.wav"),
        ("proof:prf_1", "proof:prf_1", ""),
        ("/music/x/../../ours/a.wav", "x/../../ours/a.wav", "a.wav"),
        ("C:\\ours\\in\\a.wav", "C:\\ours\\in\\a.wav", "a.wav"),
        ("", "/ours/gone.wav", "gone.wav"),
    ],
)
def test_a_file_has_the_name_that_its_supplier_knows(audio: str, file: str, name: str) -> None:
    """Never our own folders or buckets, nor the ID of a proof."""
    assert name_for_supplier({"audio": audio, "file": file}) == name


def test_a_row_says_in_words_why_and_names_the_file_from_its_root(tmp_path: Path, results: Results) -> None:
    """A file outside of the root has its whole location."""
    plan = plan_of_run("20261116T100000Z_b", 2)
    places = [{"audio": "/m/x/a.wav", "relative_path": "x/a.wav"}, {"audio": "/m/x/a.wav"}]
    rows = [answered(plan, row, f"i{row}", "rejected", reason="unreadable") | cells for row, cells in enumerate(places)]
    end_leg(results, plan, rows)

    exported(SelectedRows.of(results, plan.run_id, ""), tmp_path / "a.csv")

    with (tmp_path / "a.csv").open(encoding="utf-8-sig", newline="") as file:
        cells, outside = csv.DictReader(file)
    assert (cells["file"], outside["file"], cells["audio"]) == ("x/a.wav", "/m/x/a.wav", "/m/x/a.wav")
    assert cells["in_words"] == "the credential in the file cannot be read"
    assert cells["what_to_do"].startswith("reject, and ask")
    assert cells["for_supplier"].startswith("No credential could be read.")
    assert (cells["id"], cells["run_id"]) == ("i0", plan.run_id)
