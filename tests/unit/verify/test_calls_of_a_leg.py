"""A leg never makes more calls than it was given, copies spend none, and each row says what was spent for it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from proofsweep.domain.exchanges import Call
from proofsweep.domain.runs import Bounds
from proofsweep.verify import attribution
from proofsweep.verify.attempt import leg_session
from proofsweep.verify.duplicates import DuplicateCache
from proofsweep.verify.leg import Leg
from proofsweep.verify.worker import verify_batch, work_last

from ..conftest import WAV, LegBuilder
from ..scripted_service import NOW, SLOT, VALID, Scripted, ScriptedService

REJECTED = Scripted(document={"good": False, "verdict": "tampered"})
BUSY, UNFIT, GONE = Scripted(status=503), Scripted(status=422), Scripted(status=404)
WORLDS: Mapping[str, dict[Call, list[Scripted]]] = {
    "well": {},
    "down": {Call.UPLOADS: [BUSY] * 99, Call.VERIFY: [BUSY] * 99},
    "half down": {Call.UPLOADS: [BUSY, SLOT] * 50},
    "down at the end": {Call.VERIFY: [VALID] * 2 + [BUSY] * 99},
    "refuses for a while": {Call.VERIFY: [UNFIT] * 5 + [REJECTED] * 99},
    "forgets slots": {Call.VERIFY: [GONE] * 99},
    "throttles": {Call.VERIFY: [Scripted(status=429, retry_after=0.001), VALID] * 50},
}


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attribution, "_LOOK_AGAIN_SECONDS", 0.01)
    monkeypatch.setattr(attribution, "_FIRST_CHECK_AT", 2)


def work(leg: Leg) -> str:
    """Work on a whole leg, as a run does; give how it ended."""
    with leg_session(leg, {}, lambda: NOW):
        verify_batch(leg)
        work_last(leg)
    return "complete" if leg.stop.reason is None else str(leg.stop.reason.ended_by)


def keyed(service: ScriptedService) -> int:
    return sum(call.is_keyed for call in service.calls)


def calls_of_rows(leg: Leg) -> dict[int, int]:
    """Return what each row says of its calls, by the leg's parts."""
    names = [part.name for part in leg.parts.parts["verdicts"]]
    table = leg.results.table("verdicts", names, ["manifest_row", "calls"])
    return {row["manifest_row"]: row["calls"] for row in table.to_pylist()}


def test_a_copy_spends_nothing_while_it_waits_and_when_it_is_answered(
    new_leg: LegBuilder, service: ScriptedService
) -> None:
    """With calls for one file, all of its copies are finished."""
    leg = new_leg.leg(new_leg.plan(12), bounds=Bounds(max_calls=3))
    leg.verify = replace(leg.verify, duplicates=DuplicateCache(leg.stop, leg.workers.make_room))
    for row in range(12):
        Path(next(leg.completed.items(range(row, row + 1))).audio).write_bytes(WAV + bytes(8))

    assert work(leg) == "complete"
    assert leg.trail.rows == {"accepted": 12}
    assert [call for call in service.calls if call is not Call.USAGE] == [Call.UPLOADS, Call.SLOT, Call.VERIFY]


def test_copies_of_a_file_that_fails_are_sent_as_far_as_there_are_calls(
    new_leg: LegBuilder, service: ScriptedService
) -> None:
    """One of them has the answer for the others."""
    leg = new_leg.leg(new_leg.plan(6), bounds=Bounds(max_calls=9))
    leg.verify = replace(leg.verify, duplicates=DuplicateCache(leg.stop, leg.workers.make_room))
    for row in range(6):
        Path(next(leg.completed.items(range(row, row + 1))).audio).write_bytes(WAV + bytes(8))
    service.script[Call.VERIFY] = [UNFIT]

    verify_batch(leg)

    assert leg.trail.rows["accepted"] == 5
    assert keyed(service) <= 9


@pytest.mark.parametrize("max_calls", [3, 8, 13])
@pytest.mark.parametrize("name", WORLDS)
def test_no_leg_makes_more_calls_than_it_was_given(
    new_leg: LegBuilder, service: ScriptedService, name: str, max_calls: int
) -> None:
    """Whatever is repeated or checked. What is left without calls remains, and the leg says so."""
    leg = new_leg.leg(new_leg.plan(8), bounds=Bounds(max_calls=max_calls))
    service.script.update({call: list(answers) for call, answers in WORLDS[name].items()})

    ended_by = work(leg)

    assert keyed(service) <= max_calls
    assert ended_by in {"complete", "window", "breaker"}
    if ended_by == "window":
        assert leg.stop.reason is not None
        assert "none are left for" in leg.stop.reason.message
        assert leg.completed.remaining > 0


@pytest.mark.parametrize("reserve", [896, 888])
@pytest.mark.parametrize("name", ["down", "half down", "refuses for a while"])
def test_no_leg_uses_the_reserve(new_leg: LegBuilder, service: ScriptedService, name: str, reserve: int) -> None:
    leg = new_leg.leg(new_leg.plan(8), bounds=Bounds(reserve=reserve))
    leg.budget.record_reading(900, None)
    service.script.update({call: list(answers) for call, answers in WORLDS[name].items()})
    for number in range(99):  # each reading tells what is really left
        service.script[Call.USAGE].append(Scripted(document={"plan": {}, "days": []}, remaining=900 - number))
    service.on_call = lambda call: (
        call is Call.USAGE
        and service.script[call].insert(0, Scripted(document={"plan": {}, "days": []}, remaining=900 - keyed(service)))
    )

    assert work(leg) in {"complete", "quota", "breaker"}
    assert keyed(service) <= 900 - reserve


def test_a_row_says_the_calls_of_all_its_tries(new_leg: LegBuilder, service: ScriptedService) -> None:
    """Also of a try that an outage met, and that made no row."""
    leg = new_leg.leg(new_leg.plan(3))
    service.usual[Call.VERIFY] = REJECTED  # silence, too
    service.script[Call.VERIFY] = [BUSY] * 6

    assert work(leg) == "complete"

    names = [part.name for part in leg.parts.parts["exchanges"]]
    exchanges = leg.results.table("exchanges", names, ["manifest_row", "call", "environment"]).to_pylist()
    sent = Counter(each["manifest_row"] for each in exchanges if Call(each["call"]).is_keyed)
    assert {each["environment"] for each in exchanges} == {leg.plan.environment}
    assert calls_of_rows(leg) == {row: sent[row] for row in range(3)}
    assert max(calls_of_rows(leg).values()) > 3
    assert not set(leg.budget.calls_of_tries) & set(range(3))
