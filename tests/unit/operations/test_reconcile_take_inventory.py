"""An inventory writes a row for each proof, or none at all."""

from pathlib import Path

import pytest

from proofsweep.errors import RunMustStop
from proofsweep.model.exchanges import Call
from proofsweep.operations.operation_log import OperationLog
from proofsweep.operations.reconcile import take_inventory
from proofsweep.partner.partner import Partner
from proofsweep.store.folder_store import FolderStore
from proofsweep.store.operations import Operations
from proofsweep.store.plans_and_parts import Results

from ..ended_operations import operation_named
from ..scripted_service import NOW, Scripted, ScriptedService

OPERATION = operation_named("20261120T010000Z_000aa")


def test_an_inventory_writes_its_rows(partner: Partner, service: ScriptedService, tmp_path: Path) -> None:
    """And counts them by state."""
    results = Results(FolderStore(tmp_path))
    log = OperationLog(OPERATION, Operations(results), lambda: NOW)
    service.script[Call.PROOFS] = [Scripted(document={"items": [{"proofId": "a"}, {"proofId": "b"}, {}]})]

    found = take_inventory(partner, results, log)
    log.flush()

    rows = results.table("proofs", results.all_parts("proofs")).to_pylist()
    assert (found.listed, found.count("no_file"), found.unnamed) == (2, 2, 1)
    assert {(row["operation_id"], row["environment"]) for row in rows} == {(OPERATION.operation_id, "beta")}


def test_a_service_that_is_down_leaves_no_half_inventory(
    partner: Partner, service: ScriptedService, tmp_path: Path
) -> None:
    """Half a list would name proofs as missing."""
    results = Results(FolderStore(tmp_path))
    log = OperationLog(OPERATION, Operations(results), lambda: NOW)
    first = {"items": [{"proofId": "a"}], "nextCursor": "1"}
    service.script[Call.PROOFS] = [Scripted(document=first), Scripted(status=503), Scripted(status=503)]

    with pytest.raises(RunMustStop) as stopped:
        take_inventory(partner, results, log)

    log.flush()
    assert stopped.value.ended_by == "breaker"
    assert not list(results.all_parts("proofs"))
