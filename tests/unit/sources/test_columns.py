"""A header says what each column is."""

from collections.abc import Sequence

import pytest

from proofsweep.config.sections import CatalogSettings
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


def test_a_person_names_the_columns_of_roles() -> None:
    """As written or in any case; what would have had the role is a tag, and so is an ISRC that is the id."""
    columns = Columns.of(
        ["audio", "Dateipfad", "ID", "isrc"], CatalogSettings(columns={"audio": "dateipfad", "id": "isrc"})
    )

    assert (columns.audio, columns.item_id, columns.tags) == (1, 3, {"audio": 0, "ID": 2, "isrc": 3})


def test_none_gives_a_role_to_no_column() -> None:
    """The column is a tag then."""
    columns = Columns.of(["audio", "ID", "sidecar"], CatalogSettings(columns={"id": "none", "sidecar": "none"}))

    assert (columns.item_id, columns.sidecar, columns.tags) == (None, None, {"ID": 1, "sidecar": 2})


def test_of_two_spellings_the_written_one_is_meant() -> None:
    """Names that differ only in case are told apart, if both are there."""
    assert Columns.of(["PATH", "path"], CatalogSettings(columns={"audio": "path"})).audio == 1


def test_a_report_of_ours_has_our_names() -> None:
    """The config says how the supplier's manifests are read; our reports have other columns."""
    header = ["audio", "sidecar", "id", "outcome", "proofsweep_run"]

    columns = Columns.of(header, CatalogSettings(columns={"audio": "Datei", "id": "none"}))

    assert (columns.audio, columns.item_id, columns.unknown) == (0, 2, [])
