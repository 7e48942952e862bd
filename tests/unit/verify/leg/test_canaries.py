"""Files whose answers are known go first, and silence of our own must not be accepted."""

from dataclasses import replace
from pathlib import Path

import pytest

from proofsweep.catalog.open_catalog import open_catalog
from proofsweep.catalog.preflight import SizeLimits
from proofsweep.errors import ConfigError, RunMustStop
from proofsweep.model.bounds import Bounds
from proofsweep.model.exchanges import Call
from proofsweep.model.items import WorkItem
from proofsweep.model.outcomes import Failed
from proofsweep.verify.leg.canaries import (
    MOST_CANARIES,
    Canary,
    read_canaries,
    send_canaries,
    send_negative_control,
)
from proofsweep.verify.leg.leg_context import LegContext

from ...conftest import LegBuilder
from ...left_behind import journal_rows
from ...scripted_service import Scripted, ScriptedService

THREE_CALLS = [Call.UPLOADS, Call.SLOT, Call.VERIFY]
TAMPERED = Scripted(document={"good": False, "verdict": "tampered"})


@pytest.fixture
def leg(new_leg: LegBuilder) -> LegContext:
    """A leg of a small run."""
    return new_leg.leg(new_leg.plan(1))


def canaries_in(folder: Path, *rows: str) -> list[Canary]:
    """Read a manifest with these rows."""
    manifest = folder / "canaries.csv"
    manifest.write_text("\n".join(["audio,expect", *rows]) + "\n")
    return read_canaries(open_catalog(str(manifest), sidecar_names=[]), SizeLimits())


def canary(wav: Path, expect: str) -> Canary:
    """Expect something of a file."""
    return Canary(WorkItem(manifest_row=0, item_id=f"{expect} one", audio=str(wav)), expect)


def test_a_manifest_says_what_must_become_of_each_file(wav: Path) -> None:
    """Accepted, rejected, or a verdict of the contract."""
    canaries = canaries_in(wav.parent, "a.wav,accepted", "a.wav,rejected", "a.wav, audioChanged ")

    assert [each.expect for each in canaries] == ["accepted", "rejected", "audioChanged"]
    assert [each.item.audio for each in canaries] == [str(wav)] * 3


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ("a.wav,fine", r"row 1: the column expect must say accepted, rejected or a verdict"),
        ("a.wav,", r"row 1: the column expect"),
        ("b.wav,accepted", r"row 1: this canary cannot be sent\. There is no audio"),
    ],
)
def test_a_manifest_that_is_no_use_is_refused(wav: Path, row: str, complaint: str) -> None:
    """Before a run is planned, and with the row to mend."""
    with pytest.raises(ConfigError, match=complaint):
        canaries_in(wav.parent, row)


def test_there_are_not_too_many_canaries(wav: Path) -> None:
    """Each costs two calls in every leg."""
    rows = ["a.wav,accepted"] * MOST_CANARIES

    assert len(canaries_in(wav.parent, *rows)) == MOST_CANARIES
    with pytest.raises(ConfigError, match=f"more than {MOST_CANARIES} canaries"):
        canaries_in(wav.parent, *rows, "a.wav,accepted")


@pytest.mark.parametrize("expect", ["rejected", "tampered"])
def test_canaries_that_come_out_as_expected_leave_no_row(
    leg: LegContext, service: ScriptedService, wav: Path, expect: str
) -> None:
    """Their exchanges are in the audit trail of no row, and the leg goes on."""
    service.script[Call.VERIFY] = [TAMPERED]

    send_canaries(leg, [canary(wav, expect), canary(wav, "accepted")])

    leg.journal.flush()
    assert leg.stop.reason is None
    assert service.calls == THREE_CALLS * 2
    assert journal_rows(leg.results, leg.plan, 1) == []
    assert journal_rows(leg.results, leg.plan, 1, "exchanges") == [None] * 6


@pytest.mark.parametrize(
    ("expect", "answer", "wrong"),
    [
        ("accepted", TAMPERED, r"must be accepted and came out rejected \(tampered\)"),
        ("audioChanged", TAMPERED, r"must be audioChanged and came out rejected \(tampered\)"),
        (
            "rejected",
            Scripted(document={"good": True, "verdict": "valid"}),
            r"must be rejected and came out accepted \(valid\)",
        ),
        ("rejected", Scripted(document=[]), r"must be rejected and could not be verified \(bad_answer\)"),
    ],
)
def test_one_that_comes_out_otherwise_ends_the_leg(
    leg: LegContext, service: ScriptedService, wav: Path, *, expect: str, answer: Scripted, wrong: str
) -> None:
    """The sentence names it, and no other canary is sent: a failure, too, says that no answers can be had."""
    service.script[Call.VERIFY] = [answer]

    send_canaries(leg, [canary(wav, expect), canary(wav, "accepted")])

    assert service.calls == THREE_CALLS
    assert leg.stop.reason is not None
    assert leg.stop.reason.ended_by == "breaker"
    with pytest.raises(RunMustStop, match=f"The canary {expect} one {wrong}"):
        leg.stop.check()


def test_canaries_are_on_the_budget(new_leg: LegBuilder, service: ScriptedService, wav: Path) -> None:
    """A leg with calls for one file sends one canary, and stops."""
    leg = new_leg.leg(new_leg.plan(1), bounds=Bounds(max_calls=4))

    send_canaries(leg, [canary(wav, "accepted")] * 3)

    assert service.calls == THREE_CALLS
    assert leg.stop.reason is not None
    assert leg.stop.reason.ended_by == "window"


def test_a_leg_that_stops_meanwhile_is_not_suspected(leg: LegContext, service: ScriptedService, wav: Path) -> None:
    """The canary that the stop met has shown nothing; the reason for the stop stays."""
    service.script[Call.UPLOADS] = [Scripted(status=503)]
    service.on_call = lambda _call: leg.stop.pull(RunMustStop("Enough.", ended_by="cancelled"))

    send_canaries(leg, [canary(wav, "accepted")] * 2)

    assert service.calls == [Call.UPLOADS]
    assert leg.stop.reason is not None
    assert leg.stop.reason.ended_by == "cancelled"


def test_a_failure_contradicts_every_expectation(wav: Path) -> None:
    """It is neither acceptance nor rejection."""
    failed = Failed(reason="timeout", detail="")

    assert [canary(wav, expect).contradiction(failed) for expect in ("accepted", "rejected", "tampered")] == [
        "could not be verified (timeout)"
    ] * 3


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


def test_a_leg_that_has_stopped_sends_no_negative_control(many: LegContext, service: ScriptedService) -> None:
    """A canary has come out wrong, perhaps."""
    many.stop.pull(RunMustStop("Enough.", ended_by="cancelled"))

    send_negative_control(many)

    assert service.calls == []
