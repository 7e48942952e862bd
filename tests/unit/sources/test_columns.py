"""A header says what each column is; text for spreadsheets runs nothing."""

from collections.abc import Sequence

import pytest

from proofsweep.config.sections import CatalogSettings
from proofsweep.domain.text import defused
from proofsweep.sources.columns import Columns


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


def test_no_column_is_the_id_by_its_name() -> None:
    """Spreadsheets number their rows in a column `ID`; a list of proofs is our own form."""
    columns = Columns.of(["ID", "audio"], CatalogSettings())

    assert (columns.item_id, columns.tags) == (None, {"ID": 0})
    assert (columns.id_in(["1", "a.wav"]), columns.name_in(["1", "a.wav"])) == (None, "1")
    assert Columns.of(["ID", "audio"], CatalogSettings(columns={"id": "none"})).name_in(["1", "a.wav"]) is None
    assert Columns.of(["proof_id", "id"], CatalogSettings()).item_id == 1


def test_a_person_names_the_columns_of_roles() -> None:
    """As written, else in any case; what would have had the role is a tag, and `none` gives it to no column."""
    columns = Columns.of(
        ["audio", "Dateipfad", "ID", "isrc"], CatalogSettings(columns={"audio": "dateipfad", "id": "isrc"})
    )

    assert (columns.audio, columns.item_id, columns.tags) == (1, 3, {"audio": 0, "ID": 2, "isrc": 3})
    assert Columns.of(["PATH", "path"], CatalogSettings(columns={"audio": "path"})).audio == 1
    none = Columns.of(["audio", "ID", "sidecar"], CatalogSettings(columns={"id": "none", "sidecar": "none"}))
    assert (none.item_id, none.sidecar, none.tags) == (None, None, {"ID": 1, "sidecar": 2})


@pytest.mark.parametrize(
    ("text", "harmless"),
    [
        *[(text, f"'{text}") for text in ("=1+1", "+49", "-5", "@SUM(A1)", "\t1", "\r1", "\n1", "'=1", '"=1', "＝1")],  # noqa: RUF001
        *[("x;=1+1;y", "x;'=1+1;y"), ("x\t@SUM(A1)", "x\t'@SUM(A1)"), ('x;"=1+1"', 'x;\'"=1+1"'), ("a;'=1", "a;''=1")],
        *[(text, text) for text in ("", "a; -5 dB", "'74 Jailbreak", "/music/=1.wav", "a=b", " =1")],
    ],
)
def test_what_a_spreadsheet_would_run_gets_an_apostrophe(text: str, harmless: str) -> None:
    """OWASP names the first letters. In many countries cells end at semicolons; a title may begin with one."""
    assert defused(text) == harmless
