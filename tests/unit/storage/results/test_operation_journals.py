"""The journals of operations give their steps back in order, each operation's alone, until they are deleted."""

from pathlib import Path
from typing import Any

import pytest

from proofsweep.errors import ResultsError
from proofsweep.storage.results.operation_journals import OperationJournals
from proofsweep.storage.results.store import open_store


class Numbers(OperationJournals[int]):
    """A step is a number."""

    def cells_of(self, step: int) -> object:
        """Give it in a list."""
        return [step]

    def step_of(self, cells: Any) -> int:  # noqa: ANN401 - JSON
        """Take it from the list."""
        return int(cells[0])


@pytest.fixture
def journals(tmp_path: Path) -> Numbers:
    """Those of an empty store."""
    return Numbers(open_store(str(tmp_path)))


def test_steps_come_back_in_their_order(journals: Numbers) -> None:
    """By their numbers, not by the order in which they were written."""
    journals.add("op_2", 10, 3)
    journals.add("op_2", 9, 2)
    journals.add("op_1", 0, 1)

    assert journals.open() == ["op_1", "op_2"]
    assert list(journals.read("op_2")) == [2, 3]


def test_a_deleted_journal_is_gone(journals: Numbers) -> None:
    """Others stay."""
    journals.add("op_1", 0, 1)
    journals.add("op_2", 0, 2)

    journals.delete("op_1")

    assert journals.open() == ["op_2"]
    assert list(journals.read("op_1")) == []


@pytest.mark.parametrize("content", ["", "[", "{}", '["one"]'])
def test_a_damaged_step_is_named(journals: Numbers, tmp_path: Path, content: str) -> None:
    """It is not taken for the journal's end."""
    journals.add("op_1", 0, 1)
    (path,) = tmp_path.rglob("*.json")
    path.write_text(content)

    with pytest.raises(ResultsError, match=r"op_1-00000000\.json .* is damaged"):
        list(journals.read("op_1"))
