"""A column is declared once, and rows are made from the declaration."""

from proofsweep.model.tables.columns import INT, TEXT, Column, empty_row, version_of

COLUMNS = (Column("a", INT, "the first", nullable=False), Column("b", TEXT, "the second"))


def test_an_empty_row_has_a_null_in_each_column() -> None:
    """The cells are in the table's order."""
    assert list(empty_row(COLUMNS).items()) == [("a", None), ("b", None)]


def test_a_table_grows_by_versions() -> None:
    """Its version is that of its newest column."""
    assert version_of(COLUMNS) == 1
    assert version_of([*COLUMNS, Column("c", TEXT, "the third", since=2)]) == 2
