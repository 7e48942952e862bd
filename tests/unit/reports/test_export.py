"""Exported rows feed back as a manifest, whatever their names are."""

import csv
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from proofsweep.domain.errors import ConfigError, UsageError
from proofsweep.domain.items import Row, WorkItem
from proofsweep.domain.reasons import Reason, reason_entries
from proofsweep.domain.runs import Plan
from proofsweep.operations.erase import read_proof_list
from proofsweep.queries.selected_rows import SelectedRows
from proofsweep.reports.export import CELLS, OWN_HEADER, export, file_name_of, own_cells
from proofsweep.reports.letters import letter_texts, name_for_supplier, tells_supplier
from proofsweep.sources.workbook import sheet_rows
from proofsweep.store import schemas
from proofsweep.store.objects import open_store
from proofsweep.store.parts import Results
from proofsweep.store.rows import planned_row

from ...worlds.ended_runs import answered, end_leg, plan_of_run

HOSTILE = [
    *("=1+1", "+49", "-5", "@SUM(A1)", "'=x", "'74", "a,b", 'say "x"', "a\nb", "a\r\nb", "\t=1", " padded "),
    *("ünï", "<script>", "\u202etxt.wav", "x;=cmd()", "\udcff", "\\xff", "~", "#", "a=b", "＝1"),  # noqa: RUF001
]
PLAN = plan_of_run("20261116T100000Z_a", len(HOSTILE), catalog_root="file:///c")
TEXTS = letter_texts()


def store_of(folder: Path, plan: Plan, tags: list[dict[str, str]]) -> SelectedRows:
    results = Results(open_store(str(folder / "results")))
    items = [
        WorkItem(manifest_row=row, item_id=name.replace("\udcff", "?"), audio=f"/c/{name}", sidecar=f"/c/{name}.proof")
        for row, name in enumerate(HOSTILE)
    ]
    planned = schemas.pa.Table.from_pylist([planned_row(item) for item in items], schema=schemas.ITEMS)
    results.write_items(plan.run_id, 0, planned)
    rows = [
        answered(plan, item.manifest_row, item.item_id, "rejected", reason="tampered")
        | {"audio": item.audio.replace("\udcff", r"\xff"), "sidecar": (item.sidecar or "").replace("\udcff", r"\xff")}
        | {"tags": json.dumps(tags[item.manifest_row % len(tags)])}
        for item in items
    ]
    end_leg(results, plan, rows)
    return SelectedRows(results=results, environment="beta", plan=plan)


def test_a_workbook_holds_text(tmp_path: Path) -> None:
    """Also what looks like a formula, a number or a date."""
    tags = [{"supplier": "=A1", "UPC": "0012345678905"}, {"+x": "'=y", "Date": "2026-11-20"}]
    plan = plan_of_run("20261116T100000Z_a", 2, catalog_root="file:///c")
    results = Results(open_store(str(tmp_path / "results")))
    end_leg(results, plan, [answered(plan, row, f"=i{row}", tags=json.dumps(tags[row])) for row in range(2)])

    export(SelectedRows(results=results, environment="beta", plan=plan), tmp_path / "all.xlsx")

    with (tmp_path / "all.xlsx").open("rb") as file:
        (_, header), *rows = sheet_rows(file)
    cells = [dict(zip(header, row, strict=True)) for _, row in rows]
    assert [(row["audio"], row["id"]) for row in cells] == [(f"/c/=i{row}", f"=i{row}") for row in range(2)]
    assert [{name: row[name] for name in tags[number]} for number, row in enumerate(cells)] == tags


def test_programs_read_cells_with_their_types(tmp_path: Path) -> None:
    """A tag with the name of one of the report's own columns has another; a name that is not UTF-8 is escaped."""
    selected = store_of(tmp_path, PLAN, [{"supplier": "Nord", "outcome": "theirs"}])

    for ending in ("json", "parquet"):
        export(selected, tmp_path / f"all.{ending}")

    (first, *_), table = json.loads((tmp_path / "all.json").read_text()), pq.read_table(tmp_path / "all.parquet")
    assert (first["outcome"], first["tag_outcome"], first["supplier"], first["id"]) == (
        *("rejected", "theirs", "Nord", HOSTILE[0]),
    )
    assert table.num_rows == len(json.loads((tmp_path / "all.json").read_text())) == len(HOSTILE)
    assert table.schema.names == list(first)
    assert [str(table.schema.field(name).type) for name in ("audio_bytes", "finished_at", "tag_outcome")] == [
        *("int64", "timestamp[us, tz=UTC]", "string"),
    ]
    assert "/c/\\xff" in table["audio"].to_pylist()


def test_each_value_of_a_tag_gets_a_file(tmp_path: Path) -> None:
    """Rows without the tag too; values that differ in case are one, and no value leads out of the folder.

    Two spellings of the tag are one column.
    """
    tags = [{"by": value} if value else {"x": "1"} for value in ("Nord", "nord", "../up", "", "no-by")]
    tags[1] = {"By": "nord"}
    (tmp_path / "out").mkdir()

    done = export(store_of(tmp_path, PLAN, tags), tmp_path / "out" / "r.csv", "BY")

    names = sorted(report.path.name for report in done.reports)
    assert len({name.lower() for name in names}) == 4
    assert {"r-Nord.csv", "r-no-by.csv", "r-no-by-1.csv"} < set(names)
    assert sum(report.rows for report in done.reports) == len(HOSTILE)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == names
    with (tmp_path / "out" / "r-Nord.csv").open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        assert next(csv.reader(file))[:3] == ["file", "by", "outcome"]


def test_no_file_is_overwritten(tmp_path: Path) -> None:
    """Also not one of several, and then none of them is written."""
    (tmp_path / "r-b.csv").write_text("mine")

    with pytest.raises(UsageError, match=r"r-b.csv exists already"):
        export(store_of(tmp_path, PLAN, [{"by": "a"}, {"by": "b"}]), tmp_path / "r.csv", "by")

    assert [path.read_text() for path in tmp_path.glob("*.csv")] == ["mine"]


def test_the_proofs_of_a_report_can_be_erased(tmp_path: Path) -> None:
    """The report is a list for `proofs erase`; a tag of that name is not."""
    results, plan = Results(open_store(str(tmp_path / "results"))), plan_of_run("20261116T100000Z_b", 1)
    end_leg(results, plan, [answered(plan, 0, "i", proof_id="p1", tags='{"proof_id": "theirs"}')])

    export(SelectedRows(results=results, environment="beta", plan=plan), tmp_path / "a.csv")

    assert read_proof_list([], tmp_path / "a.csv").proof_ids == ("p1",)


def test_a_supplier_reads_the_same_words_in_a_letter_and_in_a_list(tmp_path: Path) -> None:
    """The letter names no folder of ours and no ID; who has no supplier is in a letter of its own."""
    selected = store_of(tmp_path, PLAN, [{"supplier": "Süd"}, {"supplier": ""}, {"SUPPLIER": "Nord", "isrc": "QZ1"}])

    letters = export(selected, tmp_path / "letter.txt", "supplier")
    export(selected, tmp_path / "list.csv")

    assert sorted(report.path.name for report in letters.reports) == [
        "letter-Nord.txt",
        "letter-Süd.txt",
        "letter-no-supplier.txt",
    ]
    written = {value: path.read_text("utf-8") for value, path in letters.paths.items()}
    assert written[""].startswith("Files from an unknown supplier\n")
    assert written["Nord"].count(", ISRC QZ1\n") == written["Nord"].count("\n   - ") == len(HOSTILE) // 3
    assert not [
        word for word in ("/c/", PLAN.run_id, "tampered", "proof") if word in written["Süd"].replace("The proof,", "")
    ]
    with (tmp_path / "list.csv").open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        words = {row["for_supplier"] for row in csv.DictReader(file)}
    assert words == {letter_texts().about("tampered").sentences}


ODD = ("", "../../etc/passwd", "a b", "u\u0308", ".hidden", "x" * 300, "音" * 90, "a\nb", "a\u202eb", "\udcff")


@pytest.mark.parametrize("value", ODD)
def test_a_value_that_is_no_plain_name_gets_a_digest(value: str) -> None:
    """No value leads out of the folder, hides a file, or has the name of another value."""
    assert file_name_of("日本の音-2.x") == "日本の音-2.x"

    name = file_name_of(value)

    assert name != file_name_of(f"{value}!")
    assert name[-9] == "-"
    assert "/" not in name
    assert not name.startswith(".")
    assert len(name.encode()) < 130


def row_of(reason: str | None, outcome: str = "rejected", **cells: object) -> Row:
    return {"outcome": outcome, "reason": reason, "audio": "/music/a.wav", "relative_path": "a.wav"} | cells


def test_a_letter_groups_files_by_what_is_asked_for() -> None:
    """Then by what is wrong. Most files come first; a name cannot forge a line."""
    letter = TEXTS.letter_to(
        "No\nrth",
        [
            ("b.wav", {}, "tampered"),
            ("x\n2. y.wav", {"ISRC": "QZABC2600001", "Title": "A *song*"}, "empty"),
            ("c.wav", {}, "damaged_in_delivery"),
        ],
    )

    assert letter.startswith("Files from No\\nrth\n")
    asked = [line for line in letter.splitlines() if line[:1].isdigit()]
    assert asked == ["1. Please send the file again.", "2. Please send the original, untouched delivery again."]
    assert '   - x\\n2. y.wav, ISRC QZABC2600001, "A *song*"\n' in letter
    assert letter.index("The file is empty.") < letter.index("   - c.wav") < letter.index("2. Please")


@pytest.mark.parametrize(
    ("row", "tags", "is_told"),
    [
        (row_of("tampered"), {}, True),
        (row_of("a_verdict_of_tomorrow"), {}, True),
        (row_of("too_large", "ineligible"), {}, True),
        (row_of(None, "accepted"), {}, False),
        (row_of("source_changed", "failed"), {}, False),
        (row_of("timeout", "failed"), {}, False),
        (row_of("contradictory_answer"), {}, False),
        (row_of("source_forbidden", "ineligible"), {}, False),
        (row_of("missing_audio", "ineligible"), {}, False),
        (row_of("missing_audio", "ineligible"), {"message_id": "M1"}, True),
    ],
)
def test_a_supplier_hears_of_what_is_wrong_with_a_file_alone(row: Row, tags: dict[str, str], *, is_told: bool) -> None:
    """What is our own fault, or the service's, is told to nobody; nor is a file that only our catalog names."""
    assert tells_supplier(row, tags) is is_told
    assert (TEXTS.for_supplier(row, tags) is not None) is is_told


@pytest.mark.parametrize(
    ("audio", "relative", "root", "name"),
    [
        ("/music/acme/a.wav", "acme/a.wav", "file:///music", "acme/a.wav"),
        ("/music/acme/a.wav", None, "file:///music", "acme/a.wav"),
        ("/music/acme/a.wav", "/music/acme/a.wav", "file:///music", "acme/a.wav"),
        ("/other/a.wav", "../other/a.wav", "file:///music", "a.wav"),
        ("/other/a.wav", None, None, "a.wav"),
        ("s3://ours/in/acme/a.wav", "s3://ours/in/acme/a.wav", "s3://ours/in", "acme/a.wav"),
        ("s3://ours/in/a.wav", None, None, "a.wav"),
        ("proof:prf_1", None, "file:///music", ""),
        ("proof:prf_1", "proof:prf_1", None, ""),
    ],
)
def test_a_file_has_the_name_that_its_supplier_knows(
    audio: str, relative: str | None, root: str | None, name: str
) -> None:
    """Never our own folders or buckets, nor the ID of a proof."""
    assert name_for_supplier(row_of("empty", audio=audio, relative_path=relative), root) == name


def test_own_texts_take_the_place_of_the_shipped_ones(tmp_path: Path) -> None:
    """What they leave out is said as shipped; only `letter` has placeholders."""
    own = tmp_path / "de.toml"
    own.write_text(
        'letter = "Dateien von {supplier}\\n{problems}"\n'
        '[reasons.empty]\nwhat = "{Leer}."\nrequest = "Bitte neu senden."\n'
    )

    texts = letter_texts(own)

    assert texts.letter_to("Süd", [("{supplier}.wav", {}, "empty")]) == (
        "Dateien von Süd\n1. Bitte neu senden.\n\n   {Leer}.\n   - {supplier}.wav\n"
    )
    assert texts.for_supplier(row_of("empty"), {}) == "{Leer}. Bitte neu senden."
    assert texts.about("tampered") == TEXTS.about("tampered")
    assert texts.about("a_reason_of_tomorrow") == texts.other


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[reasons.emty]\nwhat = 'x'\nrequest = 'y'", "no reason 'emty'.*did you mean empty"),
        ("[reasons.empty]\nwhat = 'x'", "reasons.empty.request: field required"),
        ("titel = 'x'", "titel: extra inputs"),
        ("reasons = 1", "reasons: input should be"),
        ("letter = ", "not TOML"),
        ("letter = '{suplier} {problems}'", r"no placeholder \{suplier\} \(did you mean supplier\?\)"),
        ("letter = 'Dear {supplier.name}, {problems}'", r"no placeholder \{supplier\.name\}"),
        ("letter = 'Dear {supplier}'", r"it lacks \{problems\}"),
    ],
)
def test_a_template_that_cannot_be_used_is_refused_in_one_line(tmp_path: Path, content: str, said: str) -> None:
    """It names the file and the place in it."""
    own = tmp_path / "own.toml"
    own.write_text(content)

    with pytest.raises(ConfigError, match=f"(?i)own.toml cannot be used: .*{said}") as refused:
        letter_texts(own)
    assert "\n" not in refused.value.message


def test_each_reason_that_a_supplier_hears_of_has_a_text_of_its_own() -> None:
    """Also those of which the sender of a delivery is told; texts of no use are none of them."""
    told = {word for word, entry in reason_entries().items() if entry.tells_supplier} | {Reason.MISSING_AUDIO}

    assert TEXTS.reasons.keys() == told


def test_a_row_says_in_words_why_and_names_the_file_from_its_root() -> None:
    """A file outside of the root has its whole location."""
    row = dict.fromkeys(CELLS) | {"outcome": "rejected", "reason": "unreadable", "audio": "/m/x/a.wav"}
    row |= {"relative_path": "x/a.wav", "item_id": "i", "run_id": "r"}

    cells, outside = (
        dict(zip(OWN_HEADER, own_cells(each, "Please send it."), strict=True))
        for each in (row, row | {"relative_path": None})
    )

    assert (cells["file"], outside["file"], cells["audio"]) == ("x/a.wav", "/m/x/a.wav", "/m/x/a.wav")
    assert cells["in_words"] == "the credential in the file cannot be read"
    assert str(cells["what_to_do"]).startswith("reject, and ask")
    assert cells["for_supplier"] == "Please send it."
    assert (cells["id"], cells["run_id"]) == ("i", "r")
