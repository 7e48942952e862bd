"""A condition is checked against its columns, and worked out over rows."""

from collections.abc import Iterator

import pyarrow as pa
import pytest

from proofsweep import conditions
from proofsweep.conditions import columns_of_condition, judged

from .hostile_conditions import HOSTILE

COLUMNS = {"plays": pa.int64(), "supplier": pa.string(), "Supplier": pa.string()}


def cells_of(rows: list[int]) -> dict[str, pa.Array]:
    """Return what the conditions read of some rows."""
    return {"plays": pa.array([row if row >= 0 else None for row in rows], pa.int64())}


def answers(rows: Iterator[int] | list[int], *texts: str) -> list[tuple[int, tuple[bool | None, ...]]]:
    """Work conditions out over rows that are numbers."""
    return list(judged(rows, texts, cells_of, ValueError))


def test_the_columns_that_a_condition_names_are_returned() -> None:
    """As they are spelled; in any case, if only one is meant. A clock is no column."""
    assert columns_of_condition("PLAYS > 1 AND current_date > '2026-01-01'", COLUMNS, ValueError) == ["plays"]
    assert columns_of_condition('"Supplier" = 1::VARCHAR', COLUMNS, ValueError) == ["Supplier"]
    assert columns_of_condition("true -- for all", COLUMNS, ValueError) == []


@pytest.mark.parametrize(
    ("condition", "because"),
    [
        ("", "write one condition"),
        ("plays", "true or false"),
        ("plays >", "syntax error"),
        ("player > 1", "no column is named player"),
        ('supplier = "Supplier"', "differ in case only"),
        ("md5(supplier) = 'x'", "the function md5 is not allowed"),
    ],
)
def test_what_is_no_condition_is_refused_with_its_reason(condition: str, because: str) -> None:
    """Whoever asks makes the error."""
    with pytest.raises(ValueError, match=because):
        columns_of_condition(condition, COLUMNS, ValueError)


@pytest.mark.parametrize("condition", HOSTILE)
def test_a_hostile_condition_is_refused_whatever_it_names(condition: str) -> None:
    """Not for a column that is not there."""
    columns = dict.fromkeys(["id", "content", "grade_ai"], pa.string())

    with pytest.raises(ValueError, match=r"(?i)write|not allowed|error|nested|depth") as refused:
        columns_of_condition(condition, columns, ValueError)

    assert "no column" not in str(refused.value)


def test_each_row_has_the_answers_of_all_conditions() -> None:
    """Unknown is None; without a condition there are none."""
    assert answers([1, 5, -1], "plays > 2", "plays IS NULL") == [
        (1, (False, False)),
        (5, (True, False)),
        (-1, (None, True)),
    ]
    assert answers([1], "true") == [(1, (True,))]
    assert answers([1, 2]) == [(1, ()), (2, ())]


def test_rows_are_read_batch_by_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes later is read when it is asked for, and each row keeps its own answer."""
    monkeypatch.setattr(conditions, "_BATCH_ROWS", 2)
    read: list[int] = []

    def rows() -> Iterator[int]:
        for number in range(7):
            read.append(number)
            yield number

    found = judged(rows(), ["plays % 3 = 0"], cells_of, ValueError)

    assert next(found) == (0, (True,))
    assert read == [0, 1]
    assert [number for number, (is_met,) in found if is_met] == [3, 6]


def test_without_a_condition_nothing_is_read_ahead() -> None:
    """A catalog of which all rows are wanted is streamed row by row."""
    rows = iter([1, 2, 3])

    assert next(judged(rows, [], cells_of, ValueError)) == (1, ())
    assert list(rows) == [2, 3]


def test_a_row_for_which_a_condition_cannot_be_worked_out_is_an_error() -> None:
    """It names the value."""
    with pytest.raises(ValueError, match="Overflow in multiplication"):
        answers([9_223_372_036_854_775_807], "plays * 2 > 1")
