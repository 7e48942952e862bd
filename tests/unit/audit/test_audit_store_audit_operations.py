"""An audit accepts what operations wrote, and names what was changed since."""

from collections.abc import Callable
from pathlib import Path

import pytest

from proofsweep.audit.store import audit_store
from proofsweep.domain.items import Row
from proofsweep.store.objects import FolderStore
from proofsweep.store.operations import Operations
from proofsweep.store.parts import Results

from ..ended_operations import call_of, leave_operation, operation_named

OPERATION = operation_named("20261120T010000Z_000aa")
CALLS = [call_of(OPERATION, "r-1"), call_of(OPERATION, "r-2")]
ROWS: dict[str, list[Row]] = {"proofs": [{"proof_id": "p", "state": "no_file"}]}
NAME = f"run_date=2026-11-20/{OPERATION.operation_id}"


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """A store without a run."""
    return Results(FolderStore(tmp_path))


def test_a_whole_operation_is_as_it_was_written(results: Results) -> None:
    """Its calls lie in the table of the runs' calls, and are no strays there."""
    leave_operation(results, OPERATION, CALLS, ROWS)

    done = audit_store(results)

    assert (done.wrong, done.notes, done.checked.operations, done.checked.parts) == ([], [], 1, 2)


def test_an_operation_at_work_is_a_note(results: Results) -> None:
    """Nobody can say yet whether all of it is there."""
    leave_operation(results, OPERATION, CALLS, ROWS, is_killed=True)

    done = audit_store(results)

    assert (done.wrong, [note.where for note in done.notes]) == ([], [OPERATION.operation_id])


def changed(path: Path) -> None:
    """Change a byte in the middle."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def with_rows_of_another(path: Path) -> None:
    """Put the rows of another operation in the place."""
    other = operation_named("20261120T020000Z_000bb")
    results = Results(FolderStore(path.parents[2]))
    leave_operation(results, other, [call_of(other, "r-3")])
    path.write_bytes((path.parent / f"{other.operation_id}-00000-001.parquet").read_bytes())


@pytest.mark.parametrize("tamper", [Path.unlink, changed, with_rows_of_another])
def test_a_part_that_was_changed_is_found(results: Results, tmp_path: Path, tamper: Callable[[Path], None]) -> None:
    """Removed, changed or replaced."""
    leave_operation(results, OPERATION, CALLS, ROWS)

    tamper(tmp_path / f"exchanges/{NAME}-00000-001.parquet")

    (found,) = audit_store(results).wrong
    assert found.where == f"exchanges/{NAME}-00000-001.parquet"


def test_rows_that_were_added_are_found(results: Results) -> None:
    """The receipt of the operation does not name them."""
    leave_operation(results, OPERATION, CALLS, ROWS)

    Operations(results).publish(OPERATION, "proofs", [], 2)

    (found,) = audit_store(results).wrong
    assert (found.where, found.what) == (
        f"proofs/{NAME}-00002-001.parquet",
        "is not named by the receipt of its operation",
    )


def test_parts_without_an_operation_are_wrong(results: Results) -> None:
    """An operation writes its intent before its first call."""
    Operations(results).publish(OPERATION, "proofs", [], 0)
    Operations(results).publish(OPERATION, "exchanges", [], 1)
    leave_operation(results, operation_named("20261120T020000Z_000bb"))

    done = audit_store(results)

    assert [each.where for each in done.wrong] == [
        f"exchanges/{NAME}-00001-001.parquet",
        f"proofs/{NAME}-00000-001.parquet",
    ]


@pytest.mark.parametrize("content", [b"", b'{"parts": 1}', b'{"parts": [{}]}'])
def test_a_damaged_receipt_is_found(results: Results, tmp_path: Path, content: bytes) -> None:
    """No traceback, whatever it holds."""
    leave_operation(results, OPERATION)
    name = f"_operations/{OPERATION.operation_id}/receipt.json"
    (tmp_path / name).write_bytes(content)

    assert [each.where for each in audit_store(results).wrong] == [name]
