"""What killed recoveries noted is in the table before an item is redacted."""

from hashlib import sha256
from pathlib import Path

import pytest

from proofsweep.audit.audit_store import audit_store
from proofsweep.errors import RunIsActive
from proofsweep.model.tables import recoveries
from proofsweep.store.folder_store import FolderStore
from proofsweep.store.operations import OperationJournals
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.redactions import redaction_lease
from proofsweep.wiring.engines import utc_now
from proofsweep.wiring.operations import redact_item

from ...worlds.audited_store import NEWEST, end_leg, planned
from ..ended_operations import leave_operation, operation_named


def test_a_journal_of_a_killed_recovery_holds_nothing_of_the_item(tmp_path: Path) -> None:
    """While its file cannot be read, the item is not redacted."""
    results, place = Results(FolderStore(tmp_path / "results")), tmp_path / "x.sidecar"
    end_leg(results, planned(results, NEWEST, "xy"), "xy", [0, 1])
    killed = operation_named("20261103T120000Z_000aa", "recovery")
    leave_operation(results, killed, is_killed=True)
    row = {"proof_id": "proof-x", "item_id": "x", "audio": "/c/x", "sidecar": str(place), "outcome": "recovered"}
    row |= {"recovered_to": str(place), "sidecar_sha256": sha256(b"sealed").hexdigest()}
    noted = row | {"acted_at": killed.started_at}
    OperationJournals(results.store.within("_recovering"), recoveries.COLUMNS).add(killed.operation_id, 0, [noted])
    place.mkdir()
    with pytest.raises(RunIsActive, match=f"^The recovery {killed.operation_id} is at work, or was killed"):
        redact_item(results, "x")

    place.rmdir()
    place.write_bytes(b"sealed")
    redact_item(results, "x")

    said = b"".join(path.read_bytes() for path in (tmp_path / "results").rglob("*") if path.is_file())
    assert (str(place).encode() in said, audit_store(results).wrong) == (False, [])
    (left,) = results.table("recoveries", results.all_parts("recoveries")).to_pylist()
    assert (left["outcome"], left["audio"], left["recovered_to"]) == ("recovered", "redacted", None)


def test_a_second_redaction_waits_for_the_first(tmp_path: Path) -> None:
    """Both would write the same parts anew."""
    results = Results(FolderStore(tmp_path / "results"))
    redaction_lease(results, utc_now).claim(1)

    with pytest.raises(RunIsActive, match=r"^A redaction is at work"):
        redact_item(results, "x")
