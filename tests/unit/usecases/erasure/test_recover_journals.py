"""Answers of killed erasures come into the table."""

from pathlib import Path

import pytest

from proofsweep.client.partner import Partner
from proofsweep.errors import RunMustStop

from ..scripted_service import ScriptedService
from .erasing_service import Eraser, ErasingService


@pytest.fixture
def service() -> ScriptedService:
    """A service with two proofs."""
    return ErasingService("p1", "p2")


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
