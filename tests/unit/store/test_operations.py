"""An operation's objects are created once and read again; damage is named."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from proofsweep.domain.errors import NameTaken, ResultsError
from proofsweep.domain.exchanges import Call
from proofsweep.domain.operations import CallCounts
from proofsweep.operations.erase import Erasure
from proofsweep.store.objects import FolderStore, open_store
from proofsweep.store.operations import OperationJournals, Operations
from proofsweep.store.parts import Results

from ..ended_operations import call_of, leave_operation, operation_named

FIRST, SECOND = (operation_named(f"20261120T0{hour}0000Z_000aa") for hour in (1, 2))


@pytest.fixture
def operations(tmp_path: Path) -> Operations:
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


NOW = datetime(2026, 11, 20, 12, 0, 0, 123456, tzinfo=UTC)
ONE = Erasure(proof_id="p1", asked_at=NOW, answered_at=NOW, outcome="erased", erased_at=NOW, request_id="r").row()
TWO = Erasure(proof_id="p2", asked_at=NOW, answered_at=NOW, http_status=500, reason="http_500").row()


@pytest.fixture
def journals(tmp_path: Path) -> OperationJournals:
    return OperationJournals(open_store(str(tmp_path)), "erasures")


def test_rows_come_back_in_their_order(journals: OperationJournals) -> None:
    """By the numbers of the steps, not by the order in which they were written; instants keep their microseconds."""
    journals.add("op_2", 10, [TWO])
    journals.add("op_2", 9, [ONE, TWO])
    journals.add("op_1", 0, [])

    assert journals.open() == ["op_1", "op_2"]
    assert list(journals.read("op_2")) == [ONE, TWO, TWO]
    assert list(journals.read("op_1")) == []


@pytest.mark.parametrize("content", ["", "[", '{"proof_id": "p"}', '["one"]', '[{"asked_at": "one"}]', "1"])
def test_a_damaged_step_is_named(journals: OperationJournals, tmp_path: Path, content: str) -> None:
    """It is not taken for the journal's end: it may be the only record of an erasure."""
    journals.add("op_1", 0, [ONE])
    (path,) = tmp_path.rglob("*.json")
    path.write_text(content)

    with pytest.raises(ResultsError, match=r"op_1-00000000\.json .* is damaged"):
        list(journals.read("op_1"))


def test_keyed_calls_are_counted_by_day() -> None:
    """A call without a connection costs nothing; health is not keyed, and a 429 is charged."""
    counts, late = CallCounts(), datetime(2026, 11, 20, 23, 59, 59, tzinfo=UTC)

    for call, status, sent in (
        (Call.PROOF, 200, 0),
        (Call.PROOF, 429, 0),
        (Call.PROOF, None, None),
        (Call.HEALTH, 200, 0),
        (Call.SLOT, 429, 7),
    ):
        counts.add(call, status, sent, late)
    counts.add(Call.USAGE, 200, 0, late.replace(day=21))

    assert counts.document() == {
        "calls": 3,
        "calls_by_day": {"2026-11-20": 2, "2026-11-21": 1},
        "throttled": 1,
        "bytes_sent": 7,
    }
