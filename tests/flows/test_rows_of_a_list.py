"""Rows of a supplier's list are named as an editor counts them, and spellings of one supplier are one, everywhere."""

import json
from itertools import cycle

import pytest
from openpyxl import Workbook  # type: ignore[import-untyped]  # it has none

from ..worlds.sandbox_world import Samples, SandboxWorld

pytestmark = pytest.mark.usefixtures("without_prefect")

SPELLINGS = ("Nordlicht", "NORDLICHT ", " nordlicht")


def listed(world: SandboxWorld, samples: Samples) -> str:
    """Write a workbook with a blank row, of files that are rejected and one that is sent twice; give its path."""
    bad = [sample for sample in samples.files if sample.verdict == "tampered"][:3]
    book = Workbook()
    book.active.append(["audio", "supplier", "sidecar"])
    for sample, supplier in zip([*bad, samples.valid[0], samples.valid[0]], cycle(SPELLINGS), strict=False):
        book.active.append([str(sample.audio), supplier, str(sample.sidecar) if sample.sidecar else None])
    book.active.insert_rows(3)
    book.save(world.folder / "november.xlsx")
    return str(world.folder / "november.xlsx")


def test_rows_and_suppliers_of_a_list(
    world: SandboxWorld, samples: Samples, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables, explain, rejects, reports and letters agree, also after a resume."""
    monkeypatch.chdir(world.folder)
    catalog = listed(world, samples)

    def said(*arguments: str) -> str:
        capsys.readouterr()
        world.run(*arguments)
        return capsys.readouterr().out

    code = world.run("verify", catalog, "--max-calls", "6")
    resumed = world.run("resume")
    rows = world.rows()
    explained, twice = (said("explain", rows[at]["item_id"]) for at in (1, 4))
    rejected = json.loads(said("rejects", "--by", "supplier", "--json"))
    by_night = json.loads(
        said("query", "SELECT supplier, count(*) AS files FROM catalog GROUP BY ALL", "--format", "json")
    )
    said("export", "--by", "supplier", "--format", "letter", "--only", "rejected", "--file", "l.txt")
    said("export", "--by", "supplier", "--internal", "--file", "all.csv")
    (letter,), (report,) = (list(world.folder.glob(each)) for each in ("l-*.txt", "all-*.csv"))

    assert (code, resumed) == (6, 3)
    assert [row["manifest_line"] for row in rows] == [f"november.xlsx, row {row}" for row in (2, 4, 5, 6, 7)]
    assert "(sandbox), november.xlsx, row 4: rejected" in explained
    assert "november.xlsx, row 6: accepted" in twice
    assert "november.xlsx, row 7: accepted" in twice
    assert [(group["value"], group["rows"], sorted(group["lines"])) for group in rejected["groups"]] == [
        ("Nordlicht", 3, [f"november.xlsx, row {row}" for row in (2, 4, 5)])
    ]
    assert by_night == [{"supplier": "Nordlicht", "files": 4}]
    assert "Nordlicht" in letter.read_text()
    assert "november.xlsx, row 5" in report.read_text("utf-8-sig")
