"""Operations on proofs, from settings to receipt."""

import base64
from hashlib import sha256
from pathlib import Path

import pytest

from proofsweep.config.load import Settings
from proofsweep.domain.errors import ConfigError, UsageError
from proofsweep.domain.exchanges import Call
from proofsweep.operations.results import RecoveryRequest
from proofsweep.store.lease import Lease, sole_process
from proofsweep.store.operations import OperationJournals, Operations
from proofsweep.store.parts import Results
from proofsweep.store.watched import ingest_store, watch_id
from proofsweep.wiring.operations import inventory_proofs, recover_sidecars
from proofsweep.wiring.stores import results_for

from ...worlds.ended_runs import answered, end_leg, plan_of_run
from ..ended_operations import leave_operation, operation_named
from ..scripted_service import Scripted, ScriptedService
from ..wired import Change


def test_an_inventory_is_recorded(settings: Settings, service: ScriptedService) -> None:
    """The receipt counts the states, and each call: health costs nothing."""
    service.script[Call.PROOFS] = [Scripted(document={"items": [{"proofId": "a"}]})]

    found = inventory_proofs(settings)

    receipt = Operations(results_for(settings)).receipt(found.operation_id) or {}
    assert (receipt["kind"], receipt["calls"]) == ("inventory", 2)
    assert receipt["counts"] == {"no_file": 1, "unnamed": 0, "problem": None}


def test_a_lost_sidecar_is_recovered(
    change: Change, service: ScriptedService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The receipt counts the outcomes; a folder may be named as it is seen from here."""
    settings = change(SERVICE__SIDECAR_FIELD="seal")
    results, plan = results_for(settings), plan_of_run("20261120T010000Z_000aa")
    lost, audio = tmp_path / "a.sidecar", tmp_path / "a.wav"
    audio.write_bytes(b"audio")
    end_leg(results, plan, [answered(plan, 0, "a", proof_id="p", audio=str(audio), sidecar=str(lost))])
    service.script[Call.PROOF] = [Scripted(document={"seal": base64.b64encode(b"sealed").decode()})]

    monkeypatch.chdir(tmp_path)
    assert recover_sidecars(settings, RecoveryRequest(below="a.wav/")).outcomes == {}
    done = recover_sidecars(settings, RecoveryRequest(below="a.wav"))

    receipt = Operations(results).receipt(done.operation_id) or {}
    assert (lost.read_bytes(), receipt["counts"]) == (b"sealed", {"outcomes": {"recovered": 1}})


@pytest.mark.parametrize("environment", ["beta", "production"])
def test_nothing_is_written_below_a_watched_folder(
    change: Change, service: ScriptedService, tmp_path: Path, environment: str
) -> None:
    """Neither beside the audio, nor in a place that leads there; whichever environment it is watched for."""
    settings, watched, linked = change(SERVICE__SIDECAR_FIELD="seal"), tmp_path / "in", tmp_path / "link"
    watched.mkdir()
    linked.symlink_to(watched)
    (watched / "a.wav").write_bytes(b"audio")
    results = results_for(settings)
    plan = plan_of_run("20261120T010000Z_000aa")
    files = {"audio": str(watched / "a.wav"), "sidecar": str(watched / "a.sidecar")}
    end_leg(results, plan, [answered(plan, 0, "a", proof_id="p", **files)])
    other = plan_of_run("20261120T020000Z_000bb", environment="production")
    end_leg(results, other, [answered(other, 0, "b")])
    with sole_process(Lease(Results(ingest_store(settings.results.url)), watch_id(environment, str(watched)))):
        pass

    done = recover_sidecars(settings, RecoveryRequest())
    for place in (watched, watched / "sub", linked):
        with pytest.raises(UsageError, match="ingest watches"):
            recover_sidecars(settings, RecoveryRequest(prefix=str(place)))

    assert (done.outcomes, service.calls.count(Call.PROOF)) == ({"watched": 1}, 0)
    assert [path.name for path in watched.iterdir()] == ["a.wav"]


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
    OperationJournals(results.store.within("_recovering"), "recoveries").add(killed.operation_id, 0, [row])

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
