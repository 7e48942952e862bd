"""A report is a manifest: its own columns are known, and defused cells come back as they were."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofsweep.sources.completion_report import (
    CELLS,
    RUN_COLUMN,
    defused,
    own_cells,
    own_columns,
    own_header,
    restored,
)


@pytest.mark.parametrize("text", ["=1+1", "+49", "-5", "@SUM(A1)", "\t1", "\r1", "\n1", "'=1", '"=1', "＝1"])  # noqa: RUF001
def test_what_a_spreadsheet_would_run_gets_an_apostrophe(text: str) -> None:
    """OWASP names these first letters; text that is defused already gets one more."""
    assert defused(text) == f"'{text}"
    assert restored(defused(text)) == text


@pytest.mark.parametrize(
    ("text", "harmless"),
    [("x;=1+1;y", "x;'=1+1;y"), ("x\t@SUM(A1)", "x\t'@SUM(A1)"), ('x;"=1+1"', 'x;\'"=1+1"'), ("a;'=1", "a;''=1")],
)
def test_what_follows_a_separator_of_some_spreadsheet_gets_an_apostrophe(text: str, harmless: str) -> None:
    """In many countries cells end at semicolons."""
    assert (defused(text), restored(harmless)) == (harmless, text)


@pytest.mark.parametrize(
    "text", ["", "a; -5 dB", "'74 Jailbreak", "Don't Look", "/music/=1.wav", "s3://b/=k", "a=b", " =1"]
)
def test_other_text_stays(text: str) -> None:
    """A title may begin with an apostrophe, and a location never begins as a formula does."""
    assert (defused(text), restored(text)) == (text, text)


@given(st.text())
def test_every_text_comes_back(text: str) -> None:
    """Names are hostile, and ids must not change."""
    assert restored(defused(text)) == text


def test_a_manifest_without_the_run_is_no_report() -> None:
    """Its columns `outcome` and `reason` are tags of somebody else."""
    assert own_columns(["audio", "id", "outcome", "reason"]) == {}


def test_the_last_column_of_a_name_is_the_reports_own() -> None:
    """A catalog may have a tag of the same name, which stands before; but the file comes before the tags."""
    file, *others = own_header()
    header = [file, "file", "outcome", "audio", "ID", "supplier", *others]

    own = own_columns(header)

    assert own == {"file": 0} | {name: at for at, name in enumerate(header) if at > 5}
    assert own_columns(["audio", " Proofsweep_Run "]) == {"audio": 0, RUN_COLUMN: 1}


def test_a_row_says_in_words_why_and_names_the_file_from_its_root() -> None:
    """A file outside of the root has its whole location."""
    row = dict.fromkeys(CELLS) | {"outcome": "rejected", "reason": "unreadable", "audio": "/m/x/a.wav"}
    row |= {"relative_path": "x/a.wav", "item_id": "i", "run_id": "r"}

    cells, outside = (
        dict(zip(own_header(), own_cells(each, "Please send it."), strict=True))
        for each in (row, row | {"relative_path": None})
    )

    assert (cells["file"], outside["file"], cells["audio"]) == ("x/a.wav", "/m/x/a.wav", "/m/x/a.wav")
    assert cells["in_words"] == "the credential in the file cannot be read"
    assert str(cells["what_to_do"]).startswith("reject, and ask")
    assert cells["for_supplier"] == "Please send it."
    assert (cells["id"], cells[RUN_COLUMN]) == ("i", "r")
