"""Each supplier's list lies beside the page, and only the newest."""

import csv
from pathlib import Path
from urllib.parse import unquote

import pytest

from proofsweep.answers.report.lists import below, written_lists
from proofsweep.errors import ResultsError
from proofsweep.store.plans_and_parts import Results

from . import five_nights


def test_each_value_has_its_lists(results: Results, tmp_path: Path) -> None:
    """As CSV and as a workbook; those of a value that needs nothing any more go, and other files stay."""
    five_nights.fill(results)
    folder = tmp_path / "www" / "lists"
    folder.mkdir(parents=True)
    for name in ("needs-attention-Gone.csv", "notes.txt"):
        (folder / name).touch()

    with written_lists(results, "beta", ["Supplier", "colour", "label"], folder) as found:
        assert (folder / "needs-attention-Gone.csv").exists()
    with written_lists(results, "beta", ["Supplier", "label"], folder) as again:
        pass

    assert again.keys() == found.keys()
    assert len(found) == 3 + 5
    assert {form for forms in found.values() for form in forms} == {"csv", "xlsx"}
    names = {unquote(name) for forms in again.values() for name in forms.values()}
    assert {path.name for path in folder.iterdir()} == names | {"notes.txt"}
    with (folder / unquote(again["supplier", "Nordlicht Music"]["csv"])).open(encoding="utf-8-sig") as file:
        assert len(list(csv.DictReader(file))) == 43


def test_links_lead_into_the_folder() -> None:
    """Whatever its name is."""
    assert below("my lists", {("supplier", None): {"csv": "a%20b.csv"}}) == {
        ("supplier", None): {"csv": "my%20lists/a%20b.csv"}
    }


def test_a_folder_that_cannot_be_written_is_one_line(results: Results, tmp_path: Path) -> None:
    """It says which."""
    five_nights.fill(results)
    (tmp_path / "file").touch()

    with (
        pytest.raises(ResultsError, match=r"The lists cannot be written to .*file/lists"),
        written_lists(results, "beta", ["supplier"], tmp_path / "file" / "lists"),
    ):
        pass


def test_a_page_that_cannot_be_made_leaves_the_lists_as_they_were(results: Results, tmp_path: Path) -> None:
    """So that page and lists are of one time."""
    five_nights.fill(results)
    (tmp_path / "needs-attention-Gone.csv").touch()

    with pytest.raises(KeyError), written_lists(results, "beta", ["supplier"], tmp_path):
        raise KeyError

    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["needs-attention-Gone.csv"]
