"""Operations on proofs, from settings to receipt."""

import base64
from pathlib import Path

import pytest

from proofsweep.bootstrap.proofs import inventory_proofs, recover_sidecars
from proofsweep.bootstrap.stores import results_for
from proofsweep.domain.exchanges import Call
from proofsweep.domain.proofs import RecoveryRequest
from proofsweep.errors import ConfigError, UsageError
from proofsweep.settings import Settings
from proofsweep.storage.results.operations import Operations

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


def test_without_the_wire_name_no_call_is_made(settings: Settings, change: Change, service: ScriptedService) -> None:
    """Nor for a sidecar that would change what is verified."""
    with pytest.raises(ConfigError, match=r"service\.sidecar_field"):
        recover_sidecars(settings, RecoveryRequest())
    with pytest.raises(UsageError, match="--to"):
        recover_sidecars(change(SERVICE__SIDECAR_FIELD="seal"), RecoveryRequest(with_one_files=True))

    assert service.calls == []
