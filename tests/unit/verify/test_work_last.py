"""What is in doubt is tried last, and what is in doubt still then ends the leg."""

from dataclasses import replace
from pathlib import Path

import pytest

from proofsweep.client.stop import StopSwitch
from proofsweep.domain.errors import ResultsError
from proofsweep.domain.exchanges import Call
from proofsweep.domain.runs import Slice
from proofsweep.store.journal import Segments
from proofsweep.verify.duplicates import DuplicateCache
from proofsweep.verify.session import LegContext
from proofsweep.verify.worker import unfinished, verify_slice, work_last

from ..conftest import WAV, LegBuilder
from ..left_behind import journal_rows, write_journal, write_part
from ..scripted_service import VALID, Scripted, ScriptedService

THREE_CALLS = [Call.UPLOADS, Call.SLOT, Call.VERIFY]
DOWN = Scripted(status=500)
REJECTED = Scripted(document={"good": False, "verdict": "unreadable"})


@pytest.fixture
def leg(new_leg: LegBuilder) -> LegContext:
    return new_leg.leg(new_leg.plan(3))


def written(leg: LegContext) -> list[int]:
    leg.journal.flush()
    return sorted(row for row in journal_rows(leg.results, leg.plan, leg.leg) if row is not None)


def work(leg: LegContext, rows: int = 3) -> None:
    """Work through the first rows one by one, and then try last what is left."""
    for row in range(rows):
        verify_slice(leg, Slice(0, row, row + 1))
    work_last(leg)


def why(leg: LegContext) -> str:
    assert leg.stop.reason is not None
    assert leg.stop.reason.ended_by == "breaker"
    return leg.stop.reason.message


def test_what_failed_in_an_outage_is_tried_again(leg: LegContext, service: ScriptedService) -> None:
    """It came to nothing while controls came out wrong, and it is answered now."""
    leg.control.outage_seconds = 60.0
    probes = [DOWN] * 4 + [REJECTED]
    service.script[Call.VERIFY] = [DOWN, DOWN, *probes]

    work(leg)

    assert leg.stop.reason is None
    assert written(leg) == [0, 1, 2]
    assert leg.counters.rows == {"accepted": 3}
    assert leg.control.put_aside == set()


def test_a_failure_that_a_late_control_believes_needs_no_second_try(
    leg: LegContext, service: ScriptedService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The controls that are left come first."""
    monkeypatch.setattr("proofsweep.verify.attribution.CONTROL_WAIT_SECONDS", 0.3)
    service.script[Call.VERIFY] = [*[DOWN] * 2, REJECTED, *[DOWN] * 2, VALID, REJECTED]

    work(leg)

    assert written(leg) == [0, 1, 2]
    assert leg.counters.rows == {"failed": 2, "accepted": 1}


def test_a_source_that_is_back_is_read(new_leg: LegBuilder) -> None:
    """Its files come last."""
    plan = new_leg.plan(3)
    leg = new_leg.leg(plan)
    contents = {path: path.read_bytes() for path in new_leg.folder.glob("*.wav")}
    for path in contents:
        leg.control.calls.known.note_read(str(path))
        path.unlink()
    verify_slice(leg, Slice(0, 0, 1))
    before = written(leg)
    for path, content in contents.items():
        path.write_bytes(content)

    work_last(leg)

    assert before == []
    assert written(leg) == [0, 1, 2]
    assert leg.stop.reason is None


def test_the_last_round_asks_the_service_for_each_file(
    leg: LegContext, service: ScriptedService, stop: StopSwitch
) -> None:
    """The answer for other bytes that are the same may have been given in an outage."""
    shared = replace(leg, verify=replace(leg.verify, duplicates=DuplicateCache(stop)))
    for row in range(3):
        Path(next(leg.remaining.items(Slice(0, row, row + 1))).audio).write_bytes(WAV + bytes(8))
    late = replace(shared, in_doubt_before=frozenset({0, 1, 2}))

    work(late)

    assert sorted(service.calls) == sorted(THREE_CALLS * 3)


def test_what_is_unfinished_has_no_row_of_any_process(leg: LegContext) -> None:
    """Neither in a journal nor in a part."""
    write_journal(leg.results, leg.plan, 1, [1], writer="another")
    write_part(leg.results, leg.plan, 1, 0, [2])

    assert [item.manifest_row for item in unfinished(leg)] == [0]


def test_a_store_that_cannot_be_read_ends_the_leg(leg: LegContext, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody knows what is left."""

    def fail(_self: Segments, _table: str) -> None:
        raise ResultsError("The store is away.")

    monkeypatch.setattr(Segments, "names", fail)

    work_last(leg)

    assert why(leg) == "What remains cannot be read: The store is away."
