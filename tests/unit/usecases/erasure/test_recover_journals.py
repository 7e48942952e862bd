"""One erasure at a time works in a store, and answers of killed ones come into the table."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from proofsweep.client.partner import Partner
from proofsweep.errors import RunIsActive, RunMustStop
from proofsweep.storage.results.folder_store import FolderStore
from proofsweep.storage.results.legs import Legs
from proofsweep.storage.results.plans_and_parts import Results
from proofsweep.usecases.erasure.recover_journals import only_erasure

from ..scripted_service import ScriptedService
from .erasing_service import Eraser, ErasingService


@pytest.fixture
def claims(tmp_path: Path) -> Legs:
    """The claims of an empty store."""
    return Legs(Results(FolderStore(tmp_path)), "erasures", lambda: datetime.now(UTC))


@pytest.fixture
def service() -> ScriptedService:
    """A service with two proofs."""
    return ErasingService("p1", "p2")


def test_a_second_erasure_waits(claims: Legs) -> None:
    """It would take the journal of the first one for that of a dead process."""
    with only_erasure(claims), pytest.raises(RunIsActive, match="Another process erases"), only_erasure(claims):
        pass

    with only_erasure(claims):
        pass


def test_a_dead_process_holds_nobody_up(claims: Legs, tmp_path: Path) -> None:
    """Its claim is there, and the process is not."""
    claims.claim(1)
    (claim,) = tmp_path.rglob("claim.json")
    claim.write_text(json.dumps(json.loads(claim.read_text()) | {"process_started": "earlier"}))

    with only_erasure(claims):
        pass


def test_answers_of_a_killed_erasure_come_into_the_table(
    tmp_path: Path, partner: Partner, service: ScriptedService
) -> None:
    """With a receipt that says that it was killed; the next command does it before anything else."""
    eraser = Eraser(tmp_path, partner)
    stop = partner.session.context.dispatcher.stop
    service.on_call = lambda _call: stop.pull(RunMustStop("killed", ended_by="cancelled"))
    with pytest.raises(RunMustStop):
        eraser.erase("p1", "p2")
    assert eraser.rows() == []

    with pytest.raises(RunMustStop):
        eraser.erase("p2")

    (row,) = eraser.rows()
    receipt = eraser.operations.receipt(str(row["operation_id"])) or {}
    assert (row["proof_id"], row["outcome"]) == ("p1", "erased")
    assert (receipt["ended_by"], receipt["counts"]) == ("killed", {"erased": 1, "already_erased": 0, "failed": 0})
    assert eraser.journals.open() == []
