"""Silence of our own must not be accepted."""

from dataclasses import replace

import pytest

from proofsweep.domain.exchanges import Call
from proofsweep.verify.attempt import send_negative_control
from proofsweep.verify.session import LegContext

from ..conftest import LegBuilder
from ..left_behind import journal_rows
from ..scripted_service import Scripted, ScriptedService

THREE_CALLS = [Call.UPLOADS, Call.SLOT, Call.VERIFY]
TAMPERED = Scripted(document={"good": False, "verdict": "tampered"})


@pytest.fixture
def many(new_leg: LegBuilder) -> LegContext:
    """A leg of just enough files for a negative control."""
    return new_leg.leg(new_leg.plan(100))


def test_a_leg_of_many_files_begins_with_a_negative_control(many: LegContext, service: ScriptedService) -> None:
    """The probe audio, once for the mode that the run has; its exchanges belong to no row."""
    service.usual[Call.VERIFY] = TAMPERED

    send_negative_control(many)

    many.journal.flush()
    assert many.stop.reason is None
    assert service.calls == THREE_CALLS
    assert journal_rows(many.results, many.plan, 1, "exchanges") == [None] * 3


def test_both_modes_are_asked_where_a_run_has_both(many: LegContext, service: ScriptedService) -> None:
    """Each may be wrong by itself; a pair has a sidecar."""
    service.usual[Call.VERIFY] = TAMPERED

    send_negative_control(replace(many, plan=replace(many.plan, pairs=60)))

    assert service.calls == THREE_CALLS * 2
    assert [set(body) for body in service.bodies if isinstance(body, dict)] == [{"uploadId", "sidecar"}, {"uploadId"}]


def test_a_service_that_accepts_silence_ends_the_leg(many: LegContext) -> None:
    """Before any answer of it is believed."""
    send_negative_control(many)

    assert many.stop.reason is not None
    assert many.stop.reason.ended_by == "breaker"
    assert "accepted silence" in many.stop.reason.message


def test_a_negative_control_that_fails_says_nothing(many: LegContext, service: ScriptedService) -> None:
    """Whether the service works is asked when items fail."""
    service.usual[Call.VERIFY] = Scripted(status=500)

    send_negative_control(many)

    assert many.stop.reason is None


def test_a_leg_of_few_files_has_no_negative_control(new_leg: LegBuilder, service: ScriptedService) -> None:
    """Its two calls would be more than a hundredth of those of the leg."""
    send_negative_control(new_leg.leg(new_leg.plan(99)))

    assert service.calls == []
