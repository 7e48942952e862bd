"""The morning after: which files need attention, lists for suppliers, and a new run of just some files."""

import csv
import json
from pathlib import Path

import pytest

import proofsweep_sandbox as sandbox
from proofsweep.results import open_results

from ..worlds.core import verified
from .conftest import Command


@pytest.fixture
def delivery(workdir: Path, running: sandbox.Running, catalog: Path) -> Path:
    """A manifest of two suppliers whose names, ids and tags a spreadsheet would run; one file of each is bad."""
    del workdir
    folder = catalog.parent / "delivery"
    folder.mkdir(exist_ok=True)
    bare = next(catalog.rglob("*.wav"))
    rows = [("audio", "id", "supplier", "outcome")]
    for number, supplier in enumerate(("=Nord", "Süd & Co")):
        good = running.operator.issue(bare, folder / f"=good{number}.wav", song="A Song")
        bad = folder / f"+bad{number}.wav"
        bad.write_bytes(bare.read_bytes())
        rows += [(f"=good{number}.wav", f"-{number}", supplier, "x"), (bad.name, f"@{number}", supplier, "y")]
        assert good.audio.exists()
    with (folder / "catalog.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return folder / "catalog.csv"


def test_a_morning_without_sql(
    proofsweep: Command, delivery: Path, workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Verify, list by supplier, export and write to each, verify some again: every item keeps its id and its tags."""
    monkeypatch.setenv("PROOFSWEEP_CATALOG__COLUMNS", '{"id": "id"}')
    monkeypatch.setenv("PROOFSWEEP_EXPORT__LANGUAGES", '{"*": "de"}')
    first = verified(delivery)

    listed = proofsweep("rejects", "--by", "Supplier")
    mistyped = proofsweep("export", "--file", "oyt/bad.csv")
    (workdir / "out").mkdir()
    exported = proofsweep("export", "--only", "rejected", "--by", "supplier", "--file", "out/bad.csv", "--json")
    files = [Path(each["file"]) for each in json.loads(exported.stdout)["files"]]
    letter = ("export", first, "--by", "supplier", "--format", "letter", "--language", "en")
    written, again = proofsweep(*letter), proofsweep(*letter)
    only = verified(delivery, only=("unreadable",))
    coverage = proofsweep("query", "SELECT files, gone FROM coverage", "--format", "json")

    assert (listed.returncode, mistyped.returncode, exported.returncode) == (0, 2, 0)
    assert mistyped.stderr == "proofsweep: oyt/bad.csv cannot be written: No such file or directory\n"
    assert "2 files need attention (sandbox, newest answers of all runs)\n\n=Nord — 1 file\n" in listed.stdout
    assert "  1 rejected: the credential in the file cannot be read (unreadable)\n" in listed.stdout
    assert "\n    +bad1.wav (catalog.csv, line 5)\n" in listed.stdout
    assert len(files) == 2
    assert all(path.read_text("utf-8-sig").startswith("Datei,") for path in files)
    letters = sorted(workdir.glob("letter-*.txt"))
    assert (written.returncode, len(letters), written.stdout.count(": 1 row\n")) == (0, 2, 2)
    texts = [path.read_text() for path in letters]
    assert all(text.startswith("Files from ") and "+bad" in text and "=good" not in text for text in texts)
    assert (again.returncode, again.stdout, again.stderr.count("\n")) == (2, "", 1)  # none is overwritten
    columns = ["item_id", "audio", "tags", "outcome"]
    rows = {run: open_results("results").verdicts(run, columns).to_pylist() for run in (first, only)}
    bad = [row for row in rows[first] if row["outcome"] == "rejected"]
    assert [row["item_id"] for row in bad] == ["@0", "@1"]
    assert rows[only] == bad
    assert json.loads(coverage.stdout) == [{"files": 4, "gone": 0}]
    assert not (workdir / "oyt").exists()


def test_lists_say_what_to_do_next(proofsweep: Command, finished_run: str) -> None:
    """The command that is printed can be given as it is; a file that is there is never overwritten."""
    listed = proofsweep("rejects", finished_run, "--limit", "1", "-r", "results")
    written = proofsweep("export", finished_run, "--only", "rejected,failed")
    refused = proofsweep("export", finished_run, "--only", "rejected,failed")
    workbook = proofsweep("export", "--format", "xlsx")
    nothing = proofsweep("export", "--only", "failed")

    assert "… and " in listed.stdout
    assert f"proofsweep export --only rejected,failed,ineligible {finished_run} --results results\n" in listed.stdout
    assert written.stdout.startswith("rejected-failed.csv: ")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "rejected-failed.csv exists already" in refused.stderr
    assert workbook.stdout == "report.xlsx: 26 rows\n"
    assert (nothing.returncode, nothing.stdout) == (0, "There is no such row; nothing was written.\n")
