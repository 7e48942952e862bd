"""A header says what each column is; a report of ours is a manifest whose cells come back as they were."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofsweep.config.sections import CatalogSettings
from proofsweep.domain.text import defused, restored
from proofsweep.sources.columns import OWN_HEADER, RUN_COLUMN, Columns, own_columns


@pytest.mark.parametrize(
    ("header", "audio", "tags"),
    [
        (["audio", "isrc"], 0, {"isrc": 1}),
        (["isrc", "path"], 1, {"isrc": 0}),
        (["path", "audio"], 1, {"path": 0}),
        (["audio", "", "x"], 0, {"column (2)": 1, "x": 2}),
        (["audio", "x", "x"], 0, {"x": 1, "x (3)": 2}),
        (["audio", "X", "x"], 0, {"X": 1, "x (3)": 2}),
        (["audio", "Audio"], 0, {"Audio": 1}),
        (["title"], None, {"title": 0}),
    ],
)
def test_a_header_says_what_each_column_is(header: Sequence[str], audio: int | None, tags: dict[str, int]) -> None:
    """`audio` wins over `path`; columns without a name, or with one that is taken, are told apart by their place."""
    columns = Columns.of(header, CatalogSettings())

    assert (columns.audio, columns.tags) == (audio, tags)


def test_a_person_names_the_columns_of_roles() -> None:
    """As written, else in any case; what would have had the role is a tag, and `none` gives it to no column."""
    columns = Columns.of(
        ["audio", "Dateipfad", "ID", "isrc"], CatalogSettings(columns={"audio": "dateipfad", "id": "isrc"})
    )

    assert (columns.audio, columns.item_id, columns.tags) == (1, 3, {"audio": 0, "ID": 2, "isrc": 3})
    assert Columns.of(["PATH", "path"], CatalogSettings(columns={"audio": "path"})).audio == 1
    none = Columns.of(["audio", "ID", "sidecar"], CatalogSettings(columns={"id": "none", "sidecar": "none"}))
    assert (none.item_id, none.sidecar, none.tags) == (None, None, {"ID": 1, "sidecar": 2})


def test_a_report_of_ours_has_our_names() -> None:
    """The config says how the supplier's manifests are read; our reports have other columns."""
    header = ["audio", "sidecar", "id", "outcome", "proofsweep_run"]

    columns = Columns.of(header, CatalogSettings(columns={"audio": "Datei", "id": "none"}))

    assert (columns.audio, columns.item_id, columns.unknown) == (0, 2, [])


@pytest.mark.parametrize("text", ["=1+1", "+49", "-5", "@SUM(A1)", "\t1", "\r1", "\n1", "'=1", '"=1', "＝1"])  # noqa: RUF001
def test_what_a_spreadsheet_would_run_gets_an_apostrophe(text: str) -> None:
    """OWASP names these first letters; text that is defused already gets one more."""
    assert defused(text) == f"'{text}"


@pytest.mark.parametrize(
    ("text", "harmless"),
    [
        *[("x;=1+1;y", "x;'=1+1;y"), ("x\t@SUM(A1)", "x\t'@SUM(A1)"), ('x;"=1+1"', 'x;\'"=1+1"'), ("a;'=1", "a;''=1")],
        *[(text, text) for text in ("", "a; -5 dB", "'74 Jailbreak", "/music/=1.wav", "a=b", " =1")],
    ],
)
def test_what_follows_a_separator_of_some_spreadsheet_gets_an_apostrophe(text: str, harmless: str) -> None:
    """In many countries cells end at semicolons; a title may begin with an apostrophe, and stays."""
    assert defused(text) == harmless


@given(st.text())
def test_every_text_comes_back(text: str) -> None:
    """Names are hostile, and ids must not change."""
    assert restored(defused(text)) == text


def test_the_last_column_of_a_name_is_the_reports_own() -> None:
    """A catalog may have a tag of the same name, which stands before; but the file comes before the tags."""
    file, *others = OWN_HEADER
    header = [file, "file", "outcome", "audio", "ID", "supplier", *others]

    assert own_columns(header) == {"file": 0} | {name: at for at, name in enumerate(header) if at > 5}
    assert own_columns(["audio", " Proofsweep_Run "]) == {"audio": 0, RUN_COLUMN: 1}
    assert own_columns(["audio", "id", "outcome", "reason"]) == {}, "somebody else's, without the run"
