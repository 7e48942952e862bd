"""Each proof is asked for once, and each answer is recorded before the next one."""

import os
from functools import partial
from pathlib import Path

import pytest

from proofsweep.client.client import Partner
from proofsweep.client.stop import StopSwitch
from proofsweep.domain.errors import ResultsError, RunMustStop
from proofsweep.domain.exchanges import Call

from ...worlds.killed_lines import is_whole_after
from ..scripted_service import Scripted, ScriptedService
from .erasing_service import Eraser, ErasingService

OF_ERASURES = (
    "operations/erase.py",
    "operations/operation.py",
    "store/operations.py",
)


@pytest.fixture
def service() -> ScriptedService:
    """A service with three proofs."""
    return ErasingService("p1", "p2", "p3")


@pytest.fixture
def eraser(tmp_path: Path, partner: Partner) -> Eraser:
    """The command over an empty store."""
    return Eraser(tmp_path, partner)


def test_an_erasure_that_is_killed_after_any_line_loses_no_answer(
    tmp_path: Path, partner: Partner, service: ErasingService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what was answered, at most the one answer that was not on disk yet; the repeat says `already_erased` of it."""
    monkeypatch.setattr(os, "fsync", lambda _file: None)  # a process that is killed loses nothing that was written
    line, was_whole = 0, False
    while not was_whole:
        service.proofs, service.script[Call.ERASE] = {"p1", "p2"}, []
        eraser = Eraser(tmp_path / str(line), partner)
        was_whole = is_whole_after(line, OF_ERASURES, partial(eraser.erase, "p1", "p2"))
        known = [each.proof_id for each in eraser.told]

        eraser.erase("p1", "p2")

        rows = eraser.rows()
        erased = [str(row["proof_id"]) for row in rows if row["outcome"] == "erased"]
        assert set(known) <= set(erased), line
        assert len(erased) >= 1, line
        assert len({(row["operation_id"], row["proof_id"]) for row in rows}) == len(rows), line
        assert {row["proof_id"] for row in rows} == {"p1", "p2"}, line
        assert eraser.journals.open() == [], line
        line += 1
    assert line > 30  # the whole of it was tried


@pytest.mark.parametrize(
    ("document", "outcome", "reason"),
    [
        ({"proofId": "p7", "outcome": "erased"}, "erased", "bad_answer"),
        ({"proofId": "p1", "outcome": "queued"}, "queued", "unknown_outcome"),
        ({"outcome": "erased"}, "erased", None),
        ({"proofId": "p1"}, None, "bad_answer"),
    ],
)
def test_an_answer_that_is_no_receipt_is_kept_and_fails(
    eraser: Eraser, service: ErasingService, document: object, outcome: str | None, reason: str | None
) -> None:
    """About another proof, or with a word that the contract does not have; a missing proofId is no contradiction."""
    service.script[Call.ERASE] = [Scripted(document=document)]

    eraser.erase("p1")

    (row,) = eraser.rows()
    assert (row["outcome"], row["reason"]) == (outcome, reason)


def test_a_service_that_is_down_is_not_asked_for_each_proof(eraser: Eraser, service: ErasingService) -> None:
    """After three proofs in a row; a 404 between them is an answer."""
    down = [Scripted(status=503)] * 2
    service.script[Call.ERASE] = [*down, Scripted(status=404), *down, *down, *down]

    with pytest.raises(RunMustStop, match="3 proofs in a row") as stopped:
        eraser.erase(*map(str, range(9)))

    assert stopped.value.ended_by == "breaker"
    assert [each.proof_id for each in eraser.told] == ["0", "1", "2", "3", "4"]


def test_answers_of_a_killed_erasure_come_into_the_table(
    eraser: Eraser, service: ErasingService, stop: StopSwitch
) -> None:
    """With a receipt that says that it was killed; the next command does it before anything else."""
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


def test_a_full_disk_ends_it_before_the_next_proof(
    eraser: Eraser, service: ErasingService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What could not be written is not repeated for others."""

    def fails(_file: int) -> None:
        raise OSError(28, "No space left on device")

    service.on_call = lambda _call: monkeypatch.setattr(os, "fsync", fails)

    with pytest.raises(ResultsError, match="No space left"):
        eraser.erase("p1", "p2")

    assert service.calls == [Call.ERASE]
