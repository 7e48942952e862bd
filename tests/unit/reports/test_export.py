"""Exported rows feed back as a manifest, whatever their names are."""

import csv
import json
from pathlib import Path

import pytest

from proofsweep.config.sections import CatalogSettings
from proofsweep.domain.errors import ResultsError, UsageError
from proofsweep.domain.items import ManifestRow, WorkItem
from proofsweep.domain.runs import Plan
from proofsweep.operations.erase import read_proof_list
from proofsweep.queries.selected_rows import SelectedRows
from proofsweep.reports.export import export, file_name_of
from proofsweep.reports.letters import letter_texts
from proofsweep.sources.open_catalog import open_catalog
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


def store_of(folder: Path, plan: Plan, tags: list[dict[str, str]]) -> SelectedRows:
    """Leave a run behind, each of whose rows has a hostile name, id and tag."""
    results = Results(open_store(str(folder / "results")))
    items = [
        WorkItem(manifest_row=row, item_id=name.replace("\udcff", "?"), audio=f"/c/{name}", sidecar=f"/c/{name}.proof")
        for row, name in enumerate(HOSTILE)
    ]
    shard = schemas.pa.Table.from_pylist([planned_row(item) for item in items], schema=schemas.ITEMS)
    results.write_shard(plan.run_id, 0, shard)
    rows = [
        answered(plan, item.manifest_row, item.item_id, "rejected", reason="tampered")
        | {"audio": item.audio.replace("\udcff", r"\xff"), "sidecar": (item.sidecar or "").replace("\udcff", r"\xff")}
        | {"tags": json.dumps(tags[item.manifest_row % len(tags)])}
        for item in items
    ]
    end_leg(results, plan, rows)
    return SelectedRows(results=results, environment="beta", plan=plan)


def rows_of(path: Path) -> list[ManifestRow]:
    """Read a report as a manifest."""
    return list(open_catalog(str(path), CatalogSettings(root="/", outside="allow")).rows())


def test_a_report_gives_back_the_same_rows(tmp_path: Path) -> None:
    """Locations, ids and tags come back letter by letter, and the report's own columns are no tags."""
    tags = [
        {"supplier": "=A1", "outcome": "theirs", "file": "f"},
        {"+x": "'=y", "supplier": " ", "AUDIO": "a", "id": "0"},
    ]
    selected = store_of(tmp_path, PLAN, tags)

    done = export(selected, tmp_path / "all.csv")

    back = rows_of(tmp_path / "all.csv")
    assert [row.audio for row in back] == [f"/c/{name}" for name in HOSTILE]
    assert [row.sidecar for row in back] == [f"/c/{name}.proof" for name in HOSTILE]
    assert [row.item_id for row in back] == [name.replace("\udcff", "?") for name in HOSTILE]
    assert [dict(row.tags) for row in back] == [tags[number % 2] for number in range(len(HOSTILE))]
    assert done.catalogs == {("/c/catalog.csv", "file:///c")}


def test_a_workbook_gives_back_the_same_rows(tmp_path: Path) -> None:
    """The sheet with the rows is read, not the totals; the cells of formulas, numbers and dates stay text."""
    tags = [{"supplier": "=A1", "UPC": "0012345678905", "file": "f"}, {"+x": "'=y", "Date": "2026-11-20", "id": "0"}]
    plan = plan_of_run("20261116T100000Z_a", 2, catalog_root="file:///c")
    results = Results(open_store(str(tmp_path / "results")))
    end_leg(results, plan, [answered(plan, row, f"=i{row}", tags=json.dumps(tags[row])) for row in range(2)])

    export(SelectedRows(results=results, environment="beta", plan=plan), tmp_path / "all.xlsx")

    back = rows_of(tmp_path / "all.xlsx")
    assert [(row.audio, row.item_id, dict(row.tags)) for row in back] == [
        (f"/c/=i{row}", f"=i{row}", tags[row]) for row in range(2)
    ]


def test_no_cell_of_a_report_begins_as_a_formula(tmp_path: Path) -> None:
    """A spreadsheet that opens it runs nothing."""
    export(store_of(tmp_path, PLAN, [{"=t": "=1"}]), tmp_path / "all.csv")

    import csv  # noqa: PLC0415 - the reader of others, not ours

    with (tmp_path / "all.csv").open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        cells = [cell for line in csv.reader(file) for cell in line]
    assert [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))] == []


def test_each_value_of_a_tag_gets_a_file(tmp_path: Path) -> None:
    """Rows without the tag too; values that differ in case are one, and no value leads out of the folder.

    Two spellings of the tag are one column.
    """
    tags = [{"by": value} if value else {"x": "1"} for value in ("Nord", "nord", "../up", "", "no-by")]
    tags[1] = {"By": "nord"}

    done = export(store_of(tmp_path, PLAN, tags), tmp_path / "out" / "r.csv", "BY")

    names = sorted(report.path.name for report in done.reports)
    assert len({name.lower() for name in names}) == 4
    assert {"r-Nord.csv", "r-no-by.csv", "r-no-by-1.csv"} < set(names)
    assert sum(report.rows for report in done.reports) == len(HOSTILE)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == names
    assert {tag for row in rows_of(tmp_path / "out" / "r-Nord.csv") for tag in row.tags} == {"by"}


def test_a_tag_that_no_row_has_is_refused(tmp_path: Path) -> None:
    """The tags that there are are named; nothing is written."""
    with pytest.raises(UsageError, match=r"'suplier' \(did you mean supplier\?\); there are supplier"):
        export(store_of(tmp_path, PLAN, [{"supplier": "x"}]), tmp_path / "r.csv", "suplier")
    assert not list(tmp_path.glob("*.csv"))


def test_no_file_is_overwritten(tmp_path: Path) -> None:
    """Also not one of several, and then none of them is written."""
    (tmp_path / "r-b.csv").write_text("mine")

    with pytest.raises(UsageError, match=r"r-b.csv exists already"):
        export(store_of(tmp_path, PLAN, [{"by": "a"}, {"by": "b"}]), tmp_path / "r.csv", "by")

    assert [path.read_text() for path in tmp_path.glob("*.csv")] == ["mine"]


def test_no_rows_make_no_file(tmp_path: Path) -> None:
    """An empty list would look like a list."""
    selected = store_of(tmp_path, PLAN, [{}])

    done = export(
        SelectedRows(results=selected.results, environment="beta", plan=PLAN, outcomes=["failed"]),
        tmp_path / "r.csv",
        "by",
    )

    assert (done.reports, list(tmp_path.glob("*.csv"))) == ([], [])


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    """A file stands in the way."""
    (tmp_path / "file").touch()

    with pytest.raises(ResultsError, match=r"The report cannot be written to .*/file \("):
        export(store_of(tmp_path, PLAN, [{}]), tmp_path / "file" / "r.csv")


def test_the_proofs_of_a_report_can_be_erased(tmp_path: Path) -> None:
    """The report is a list for `proofs erase`; a tag of that name is not."""
    results, plan = Results(open_store(str(tmp_path / "results"))), plan_of_run("20261116T100000Z_b", 1)
    end_leg(results, plan, [answered(plan, 0, "i", proof_id="p1", tags='{"proof_id": "theirs"}')])

    export(SelectedRows(results=results, environment="beta", plan=plan), tmp_path / "a.csv")

    assert read_proof_list([], tmp_path / "a.csv").proof_ids == ("p1",)
    assert [dict(row.tags) for row in rows_of(tmp_path / "a.csv")] == [{"proof_id": "theirs"}]


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


def test_a_letter_names_nothing_that_a_supplier_cannot_mend(tmp_path: Path) -> None:
    """A run whose rows failed makes no letter; the tag is known by its other rows."""
    results, plan = Results(open_store(str(tmp_path / "results"))), plan_of_run("20261116T100000Z_b", 3)
    answers = [("failed", "timeout"), ("accepted", None), ("ineligible", "source_forbidden")]
    rows = [
        answered(plan, row, f"i{row}", outcome, reason=reason, tags='{"supplier": "x"}')
        for row, (outcome, reason) in enumerate(answers)
    ]
    end_leg(results, plan, rows)

    done = export(SelectedRows(results=results, environment="beta", plan=plan), tmp_path / "a.txt", "supplier")

    assert (done.reports, list(tmp_path.glob("*.txt"))) == ([], [])


def test_a_plain_value_is_the_name() -> None:
    """People look for their suppliers by name, in the letters of every script."""
    for name in ("Nordlicht-2.x", "Süd", "日本の音", "हिन्दी"):
        assert file_name_of(name) == name


@pytest.mark.parametrize(
    "value",
    [
        "",
        "..",
        "../../etc/passwd",
        "a b",
        "a/b",
        "u\u0308",
        ".hidden",
        "x" * 300,
        "音" * 90,
        "a\nb",
        "a\u202eb",
        "\udcff",
    ],
)
def test_any_other_value_gets_a_digest(value: str) -> None:
    """No value leads out of the folder, hides a file, or has the name of another value."""
    name = file_name_of(value)

    assert name == file_name_of(value)
    assert name[-9] == "-"
    assert "/" not in name
    assert not name.startswith(".")
    assert len(name.encode()) < 130


def test_values_that_look_alike_have_different_names() -> None:
    """Letters that are replaced by the same one."""
    assert file_name_of("a b") != file_name_of("a/b")
