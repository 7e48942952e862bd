"""Erasures, wired: lists are read, files are named, and a list is erased from settings alone."""

from pathlib import Path

import pytest

from proofsweep.config.load import Settings
from proofsweep.domain.errors import RunMustStop, UsageError
from proofsweep.domain.exchanges import Call
from proofsweep.store.operations import Operations
from proofsweep.wiring.engines import engine_for
from proofsweep.wiring.operations import erase_proofs, names_of, read_proof_list
from proofsweep.wiring.stores import results_for

from ..scripted_service import Scripted, ScriptedService

ERASED = Scripted(document={"outcome": "erased"})


def test_ids_of_the_command_and_of_a_file_are_one_list(tmp_path: Path) -> None:
    """A byte order mark and Windows line ends are no part of an ID."""
    (tmp_path / "list.csv").write_bytes(b"\xef\xbb\xbfproof_id,song\r\np2,x\r\np1,y\r\n,z\r\n")

    wanted = read_proof_list(["p1"], tmp_path / "list.csv")

    assert (wanted.proof_ids, wanted.repeated, wanted.empty) == (("p1", "p2"), 1, 1)


@pytest.mark.parametrize(("content", "why"), [(None, "No such file"), (b"\xff\xfa", "not UTF-8")])
def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path, content: bytes | None, why: str) -> None:
    """Nothing was erased."""
    if content is not None:
        (tmp_path / "list").write_bytes(content)

    with pytest.raises(UsageError, match=why):
        read_proof_list(["p1"], tmp_path / "list")


def test_a_list_is_erased(settings: Settings, service: ScriptedService) -> None:
    """The receipt has the counts, and no journal is left."""
    service.script[Call.ERASE] = [ERASED, ERASED]

    report = erase_proofs(settings, read_proof_list(["p1", "p2"], None), None)

    receipt = Operations(results_for(settings)).receipt(report.operation_id) or {}
    assert (len(report.erasures), report.not_asked, report.stopped) == (2, 0, None)
    assert (receipt["ended_by"], receipt["counts"]) == ("complete", {"erased": 2, "already_erased": 0, "failed": 0})
    assert receipt["calls"] == 2
    assert "p1" not in str(Operations(results_for(settings)).intent(report.operation_id))


def test_a_used_up_quota_leaves_a_report_of_what_was_done(settings: Settings, service: ScriptedService) -> None:
    """The rest was not asked for."""
    service.script[Call.ERASE] = [ERASED, Scripted(status=429, remaining=0, retry_after=9_000.0)]
    service.script[Call.USAGE] = [Scripted(remaining=0)]

    report = erase_proofs(settings, read_proof_list(["p1", "p2", "p3"], None), None)

    assert isinstance(report.stopped, RunMustStop)
    assert (report.stopped.ended_by, len(report.erasures), report.not_asked) == ("quota", 1, 2)
    assert engine_for(settings).stop.reason is None  # the next command has an engine of its own


def test_without_a_run_no_file_is_known(settings: Settings) -> None:
    """That is no error: proofs may come from elsewhere."""
    assert names_of(settings, read_proof_list(["p1"], None)) == {}
