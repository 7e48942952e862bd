"""The journals of operations give their rows back in order, each operation's alone, until they are deleted."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from proofsweep.errors import ResultsError
from proofsweep.model.proofs import Erasure
from proofsweep.model.tables import erasures
from proofsweep.store.operations import OperationJournals
from proofsweep.store.store import open_store

NOW = datetime(2026, 11, 20, 12, 0, 0, 123456, tzinfo=UTC)
ONE = Erasure(proof_id="p1", asked_at=NOW, answered_at=NOW, outcome="erased", erased_at=NOW, request_id="r").row()
TWO = Erasure(proof_id="p2", asked_at=NOW, answered_at=NOW, http_status=500, reason="http_500").row()


@pytest.fixture
def journals(tmp_path: Path) -> OperationJournals:
    """Those of an empty store."""
    return OperationJournals(open_store(str(tmp_path)), erasures.COLUMNS)


def test_rows_come_back_in_their_order(journals: OperationJournals) -> None:
    """By the numbers of the steps, not by the order in which they were written; instants keep their microseconds."""
    journals.add("op_2", 10, [TWO])
    journals.add("op_2", 9, [ONE, TWO])
    journals.add("op_1", 0, [])

    assert journals.open() == ["op_1", "op_2"]
    assert list(journals.read("op_2")) == [ONE, TWO, TWO]
    assert list(journals.read("op_1")) == []


def test_a_name_that_is_no_valid_text_is_written(journals: OperationJournals) -> None:
    """What follows is kept."""
    journals.add("op", 0, [{"proof_id": "ü\ud800b"}, ONE])

    assert list(journals.read("op"))[1] == ONE


def test_a_deleted_journal_is_gone(journals: OperationJournals) -> None:
    """Others stay."""
    journals.add("op_1", 0, [ONE])
    journals.add("op_2", 0, [TWO])

    journals.delete("op_1")

    assert journals.open() == ["op_2"]
    assert list(journals.read("op_1")) == []


@pytest.mark.parametrize("content", ["", "[", '{"proof_id": "p"}', '["one"]', '[{"asked_at": "one"}]', "1"])
def test_a_damaged_step_is_named(journals: OperationJournals, tmp_path: Path, content: str) -> None:
    """It is not taken for the journal's end: it may be the only record of an erasure."""
    journals.add("op_1", 0, [ONE])
    (path,) = tmp_path.rglob("*.json")
    path.write_text(content)

    with pytest.raises(ResultsError, match=r"op_1-00000000\.json .* is damaged"):
        list(journals.read("op_1"))
