"""An operation's objects are created once and read again; damage is named."""

from pathlib import Path

import pytest

from proofsweep.errors import NameTaken, ResultsError
from proofsweep.store.folder_store import FolderStore
from proofsweep.store.operations import Operations
from proofsweep.store.plans_and_parts import Results

from ..ended_operations import call_of, leave_operation, operation_named

FIRST, SECOND = (operation_named(f"20261120T0{hour}0000Z_000aa") for hour in (1, 2))


@pytest.fixture
def operations(tmp_path: Path) -> Operations:
    """An empty store."""
    return Operations(Results(FolderStore(tmp_path)))


def test_an_operation_is_found_by_its_intent_or_its_receipt(operations: Operations) -> None:
    """One that was killed has an intent only."""
    operations.write_intent(FIRST, {"list": "a.csv"})
    operations.write_receipt(SECOND, {"ended_by": "complete"})

    assert operations.ids() == [FIRST.operation_id, SECOND.operation_id]
    assert operations.ids(since="20261120T013") == [SECOND.operation_id]
    assert (operations.operation(FIRST.operation_id), operations.operation(SECOND.operation_id)) == (FIRST, SECOND)
    assert (operations.intent(FIRST.operation_id) or {})["list"] == "a.csv"
    assert operations.receipt(FIRST.operation_id) is None
    assert operations.operation("../../etc/passwd") is None
    with pytest.raises(NameTaken):
        operations.write_intent(FIRST, {})


def test_parts_never_replace_those_of_a_killed_attempt(operations: Operations) -> None:
    """The next free number is taken."""
    leave_operation(operations.results, FIRST, [call_of(FIRST, "r-1")], is_killed=True)

    part, after = operations.publish(FIRST, "exchanges", [], 0)

    assert (part.name.rpartition("/")[2], after) == (f"{FIRST.operation_id}-00001-001.parquet", 2)
    assert len(operations.parts_of(FIRST)) == 2
    assert operations.parts_of(SECOND) == []


@pytest.mark.parametrize("content", [b"", b"[]", b'{"kind": "x"}', b'{"operation_id": "a"'])
def test_damage_is_one_line(operations: Operations, content: bytes) -> None:
    """Whatever became of the receipt."""
    operations.results.store.create(f"_operations/{FIRST.operation_id}/receipt.json", content)

    with pytest.raises(ResultsError, match=rf"_operations/{FIRST.operation_id}.* is damaged"):
        operations.operation(FIRST.operation_id)
