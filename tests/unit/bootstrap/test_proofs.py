"""Operations on proofs, from settings to receipt."""

import base64
from hashlib import sha256
from pathlib import Path

import pytest

from proofsweep.bootstrap.proofs import inventory_proofs, recover_sidecars
from proofsweep.bootstrap.stores import results_for
from proofsweep.domain.exchanges import Call
from proofsweep.domain.proofs import RecoveryRequest
from proofsweep.errors import ConfigError, UsageError
from proofsweep.settings import Settings
from proofsweep.storage.results.operations import Operations
from proofsweep.storage.results.recovery_journal import RecoveryJournals, recovering_store

from ..ended_operations import leave_operation, operation_named
from ..ended_runs import answered, end_leg, plan_of_run
from ..usecases.scripted_service import Scripted, ScriptedService
from .conftest import Change


def test_an_inventory_is_recorded(settings: Settings, service: ScriptedService) -> None:
    """The receipt counts the states, and each call: health costs nothing."""
    service.script[Call.PROOFS] = [Scripted(document={"items": [{"proofId": "a"}]})]

    found = inventory_proofs(settings)

    receipt = Operations(results_for(settings)).receipt(found.operation_id) or {}
    assert (receipt["kind"], receipt["calls"]) == ("inventory", 2)
    assert receipt["counts"] == {"no_file": 1, "unnamed": 0, "problem": None}


def test_a_lost_sidecar_is_recovered(change: Change, service: ScriptedService, tmp_path: Path) -> None:
    """The receipt counts the outcomes."""
    settings = change(SERVICE__SIDECAR_FIELD="seal")
    results, plan = results_for(settings), plan_of_run("20261120T010000Z_000aa")
    lost = tmp_path / "a.sidecar"
    end_leg(results, plan, [answered(plan, 0, "a", proof_id="p", sidecar=str(lost))])
    service.script[Call.PROOF] = [Scripted(document={"seal": base64.b64encode(b"sealed").decode()})]

    done = recover_sidecars(settings, RecoveryRequest())

    receipt = Operations(results).receipt(done.operation_id) or {}
    assert (lost.read_bytes(), receipt["counts"]) == (b"sealed", {"outcomes": {"recovered": 1}})


def test_a_killed_recovery_is_ended_by_the_next_one(change: Change, service: ScriptedService, tmp_path: Path) -> None:
    """The file that it had written gets its row."""
    settings = change(SERVICE__SIDECAR_FIELD="seal")
    results, plan = results_for(settings), plan_of_run("20261120T010000Z_000aa")
    end_leg(results, plan, [answered(plan, 0, "a")])
    killed = operation_named("20261121T120000Z_000bb", "recovery")
    leave_operation(results, killed, is_killed=True)
    (tmp_path / "s").write_bytes(b"sealed")
    row = dict.fromkeys(("proof_id", "item_id", "audio"), "x") | {"outcome": "recovered", "acted_at": killed.started_at}
    row |= {"recovered_to": str(tmp_path / "s"), "sidecar_sha256": sha256(b"sealed").hexdigest()}
    RecoveryJournals(recovering_store(settings.results.url)).add(killed.operation_id, 0, [row])

    done = recover_sidecars(settings, RecoveryRequest())

    receipt = Operations(results).receipt(killed.operation_id) or {}
    assert (done.outcomes, receipt["counts"]) == ({}, {"outcomes": {"recovered": 1}})
    assert service.calls.count(Call.PROOF) == 0


def test_without_the_wire_name_no_call_is_made(settings: Settings, change: Change, service: ScriptedService) -> None:
    """Nor for a sidecar that would change what is verified."""
    with pytest.raises(ConfigError, match=r"service\.sidecar_field"):
        recover_sidecars(settings, RecoveryRequest())
    with pytest.raises(UsageError, match="--to"):
        recover_sidecars(change(SERVICE__SIDECAR_FIELD="seal"), RecoveryRequest(with_one_files=True))

    assert service.calls == []
