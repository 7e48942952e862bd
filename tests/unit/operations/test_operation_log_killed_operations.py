"""Each file that a killed recovery has written gets its row, once."""

import json
from hashlib import sha256
from pathlib import Path

import pytest

from proofsweep.domain.items import Row
from proofsweep.operations.operation import KilledOperations
from proofsweep.sources.files import Files
from proofsweep.sources.moves import Moves
from proofsweep.store.lease import sole_process
from proofsweep.store.objects import FolderStore
from proofsweep.store.operations import OperationJournals, Operations
from proofsweep.store.parts import Results

from ..ended_operations import leave_operation, operation_named
from ..scripted_service import NOW

OPERATION = operation_named("20261121T120000Z_000aa", "recovery")


class Killed:
    """A store with a killed recovery that was about to write three files, and had written the row of one."""

    def __init__(self, folder: Path) -> None:
        """Leave it behind."""
        self.folder = folder
        self.results = Results(FolderStore(folder / "results"))
        self.journals = OperationJournals(FolderStore(folder / "recovering"), "recoveries")
        rows = [self.row(name) for name in ("a", "b", "c")]
        leave_operation(self.results, OPERATION, rows={"recoveries": rows[:1]}, is_killed=True)
        self.journals.add(OPERATION.operation_id, 0, rows)

    def row(self, name: str) -> Row:
        """Make the row of a sidecar that holds its name."""
        place, digest = str(self.folder / name), sha256(name.encode()).hexdigest()
        return {
            **dict.fromkeys(("proof_id", "item_id", "audio", "sidecar"), name),
            "outcome": "recovered",
            "recovered_to": place,
            "sidecar_sha256": digest,
            "acted_at": NOW,
        }

    def end(self) -> list[str]:
        """End what was killed; give the items of the table."""
        files = Moves(Files())
        KilledOperations(
            journals=self.journals,
            operations=Operations(self.results),
            clock=lambda: NOW,
            table="recoveries",
            key="recovered_to",
            counts_of=lambda rows: {"rows": len(rows)},
            is_done=lambda row: files.digest(str(row["recovered_to"])) == row["sidecar_sha256"],
        ).end_all()
        table = self.results.table("recoveries", self.results.all_parts("recoveries"))
        return sorted(str(row["item_id"]) for row in table.to_pylist())


@pytest.fixture
def killed(tmp_path: Path) -> Killed:
    """A recovery that was killed."""
    return Killed(tmp_path)


def test_only_what_was_written_gets_a_row(killed: Killed, tmp_path: Path) -> None:
    """A file of that name with other bytes is somebody else's; a second look adds nothing."""
    for name, content in {"a": b"a", "b": b"b", "c": b"other bytes"}.items():
        (tmp_path / name).write_bytes(content)

    found = [killed.end() for _ in range(2)]

    receipt = Operations(killed.results).receipt(OPERATION.operation_id) or {}
    assert found == [["a", "b"], ["a", "b"]]
    assert (receipt["ended_by"], receipt["counts"]) == ("killed", {"rows": 2})
    assert (len(receipt["parts"]), killed.journals.open()) == (2, [])


def test_a_recovery_that_is_at_work_is_left_alone(killed: Killed, tmp_path: Path) -> None:
    """Its own process writes the rows."""
    (tmp_path / "b").write_bytes(b"b")

    with sole_process(Operations(killed.results).lease(OPERATION.operation_id)):
        assert killed.end() == ["a"]
    assert killed.journals.open() == [OPERATION.operation_id]


def test_files_that_cannot_be_read_now_are_looked_at_later(killed: Killed, tmp_path: Path) -> None:
    """The journal stays."""
    (tmp_path / "b").mkdir()
    assert killed.end() == ["a"]

    (tmp_path / "b").rmdir()
    (tmp_path / "b").write_bytes(b"b")
    assert killed.end() == ["a", "b"]


def test_rows_of_a_recovery_that_has_ended_are_in_its_table(killed: Killed, tmp_path: Path) -> None:
    """It was killed after its receipt."""
    (tmp_path / "b").write_bytes(b"b")
    document = json.loads(json.dumps({"ended_by": "complete", "parts": []}))
    Operations(killed.results).write_receipt(OPERATION, document)

    assert (killed.end(), killed.journals.open()) == (["a"], [])
