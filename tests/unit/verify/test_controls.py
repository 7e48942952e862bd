"""A control takes something whose answer is known through the core flow; a long leg begins with silence of our own."""

import math
import threading
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import RunMustStop
from proofsweep.domain.exchanges import Call
from proofsweep.domain.items import Mode, WorkItem
from proofsweep.domain.outcomes import AudioRead, Failed, Finished
from proofsweep.domain.runs import Bounds
from proofsweep.store.known_rows import AcceptedItem, PastAnswers
from proofsweep.verify.attempt import send_negative_control
from proofsweep.verify.fault import FAILURES_ALONE, ControlFinding, Doubt, Subject
from proofsweep.verify.probes import ControlCalls
from proofsweep.verify.session import LegContext

from ..conftest import WAV, LegBuilder
from ..left_behind import journal_rows
from ..scripted_service import NOW, VALID, Scripted, ScriptedService

THREE_CALLS = [Call.UPLOADS, Call.SLOT, Call.VERIFY]
REJECTED = Scripted(document={"good": False, "verdict": "unreadable"})
UNREGISTERED = Scripted(document={"good": False, "verdict": "unregistered"})
REFUSED_KEY = Scripted(status=403, error_code="forbidden")
SERVICE, KEY, SIZE, CONTENT = (
    Subject(doubt, Mode.ONE_FILE) for doubt in (Doubt.SERVICE, Doubt.KEY, Doubt.SIZE, Doubt.CONTENT)
)
WRONG, RIGHT = ControlFinding.WRONG, ControlFinding.RIGHT
NO_CONTROL, NOT_NOW = ControlFinding.NO_CONTROL, ControlFinding.NOT_NOW
BREAKER, KEY_REFUSED = EndedBy.BREAKER, EndedBy.KEY_REFUSED
PROBES = [
    # Any answer but `valid` shows that the service works.
    (Call.VERIFY, REJECTED, RIGHT, BREAKER),
    (Call.VERIFY, VALID, WRONG, BREAKER),
    # So does a status that speaks of what was sent.
    *((Call.VERIFY, Scripted(status=status), RIGHT, BREAKER) for status in (400, 404, 413, 422)),
    # It does not work, or cannot be reached.
    *((Call.VERIFY, Scripted(status=status), WRONG, BREAKER) for status in (500, 408, 302, None)),
    (Call.VERIFY, Scripted(document=[]), WRONG, BREAKER),
    *((Call.UPLOADS, Scripted(status=status), WRONG, BREAKER) for status in (503, 404)),
    *((Call.SLOT, Scripted(status=status), WRONG, BREAKER) for status in (503, 403, 413)),
    # The service refuses the key; what is on the way refuses something else.
    (Call.UPLOADS, REFUSED_KEY, WRONG, KEY_REFUSED),
    (Call.VERIFY, REFUSED_KEY, WRONG, KEY_REFUSED),
    (Call.UPLOADS, Scripted(status=403), WRONG, BREAKER),
]


class KnownPast(PastAnswers):
    """What earlier runs accepted, as the test says."""

    def __init__(self, items: Sequence[AcceptedItem]) -> None:
        self.items = list(items)

    def accepted(self) -> list[AcceptedItem]:
        return self.items


@pytest.fixture
def leg(new_leg: LegBuilder) -> LegContext:
    return new_leg.leg(new_leg.plan(1))


@pytest.fixture
def calls(leg: LegContext) -> ControlCalls:
    calls = leg.control.calls
    calls.known.past = KnownPast([])
    return calls


def accepted(folder: Path, name: str, size: int = 60, sidecar: bytes | None = None) -> AcceptedItem:
    audio, proof = folder / name, folder / f"{name}.proof"
    audio.write_bytes((WAV + name.encode()).ljust(size, b"\0"))
    digest = sha256(audio.read_bytes()).hexdigest()
    if sidecar is None:
        return AcceptedItem(size, str(audio), None, digest, None)
    proof.write_bytes(sidecar)
    return AcceptedItem(size, str(audio), str(proof), digest, sha256(sidecar).hexdigest())


def sent_names(service: ScriptedService, *names: str) -> list[str]:
    return [name for upload in service.uploads for name in names if name.encode() in upload]


def suspect(size: int) -> Finished:
    return Finished(
        item=WorkItem(manifest_row=0, item_id="a", audio="/a.wav"),
        outcome=Failed(reason="timeout", detail=""),
        started_at=NOW,
        finished_at=NOW,
        read=AudioRead(audio_format="wav", size_bytes=size, version="v"),
    )


@pytest.mark.parametrize("subject", [SERVICE, KEY])
@pytest.mark.parametrize(("call", "answer", "finding", "ended_by"), PROBES)
def test_the_probe_audio_shows_whether_the_service_works(
    calls: ControlCalls,
    service: ScriptedService,
    *,
    subject: Subject,
    call: Call,
    answer: Scripted,
    finding: ControlFinding,
    ended_by: EndedBy,
) -> None:
    """One row, one answer; the comments in the table say why."""
    service.usual[call] = answer

    result = calls.make(subject, [suspect(8)])

    assert (result.finding, result.ended_by, result.most_bytes) == (finding, ended_by, math.inf)
    assert bool(result.why) is (finding is WRONG)


def test_the_quota_is_asked_for_while_all_others_are_held(
    leg: LegContext, calls: ControlCalls, service: ScriptedService
) -> None:
    """By this leg's account no call is left for a control; the service knows better."""
    service.usual[Call.VERIFY] = REJECTED
    leg.budget.take_reading(2, None)
    leg.dispatcher.hold(is_held=True)
    found: list[ControlFinding] = []

    thread = threading.Thread(target=lambda: found.append(calls.make(SERVICE, []).finding), daemon=True)
    thread.start()
    thread.join(3.0)
    leg.stop.pull(RunMustStop("The test is over.", ended_by="cancelled"))
    thread.join(10.0)

    assert found == [RIGHT]
    assert service.calls == [Call.USAGE, *THREE_CALLS]


@pytest.mark.parametrize("subject", [SERVICE, KEY, SIZE, CONTENT])
def test_without_calls_for_it_no_control_is_made_now(
    new_leg: LegBuilder, service: ScriptedService, tmp_path: Path, subject: Subject
) -> None:
    """The leg ends with its quota or its window."""
    calls = new_leg.leg(new_leg.plan(1), bounds=Bounds(max_calls=2)).control.calls
    calls.known.past = KnownPast([accepted(tmp_path, "small.wav")])

    assert calls.make(subject, [suspect(8)]).finding is NOT_NOW
    assert service.calls == []


@pytest.mark.parametrize(
    ("size", "chosen", "most_bytes"), [(61, "b.wav", 80), (80, "b.wav", 80), (81, "c.wav", 100), (999, "c.wav", 100)]
)
def test_the_smallest_accepted_file_that_is_large_enough_shows_whether_uploads_work(
    calls: ControlCalls, service: ScriptedService, tmp_path: Path, *, size: int, chosen: str, most_bytes: int
) -> None:
    """Or the largest, which says nothing of files that are larger still."""
    sizes = {"c.wav": 100, "a.wav": 60, "b.wav": 80}
    calls.known.past = KnownPast([accepted(tmp_path, name, size) for name, size in sizes.items()])

    result = calls.make(SIZE, [suspect(8), suspect(size), suspect(9)])

    assert sent_names(service, *sizes) == [chosen]
    assert (result.finding, result.most_bytes) == (RIGHT, most_bytes)


@pytest.mark.parametrize(
    ("answers", "finding"),
    [
        ([VALID], RIGHT),
        ([UNREGISTERED], WRONG),
        ([VALID, VALID], RIGHT),
        ([VALID, UNREGISTERED], WRONG),
        ([VALID, VALID, UNREGISTERED], RIGHT),
        ([VALID, UNREGISTERED, Scripted(status=422)], WRONG),
        ([VALID] * 3, RIGHT),
    ],
)
def test_most_of_three_accepted_files_must_be_accepted_again(
    calls: ControlCalls, service: ScriptedService, tmp_path: Path, *, answers: list[Scripted], finding: ControlFinding
) -> None:
    """Fewer, where fewer are known."""
    calls.known.past = KnownPast([accepted(tmp_path, f"{number}.wav") for number in range(len(answers))])
    service.script[Call.VERIFY] = list(answers)

    assert calls.make(CONTENT, [suspect(8)]).finding is finding
    assert service.calls == THREE_CALLS * len(answers)


@pytest.mark.parametrize(("failures", "finding"), [(FAILURES_ALONE - 1, NO_CONTROL), (FAILURES_ALONE, RIGHT)])
def test_where_nothing_is_known_the_probe_tells_of_many_failures(
    calls: ControlCalls, service: ScriptedService, failures: int, finding: ControlFinding
) -> None:
    """It is no known file, but a verdict for it shows that the service judges."""
    service.usual[Call.VERIFY] = REJECTED

    assert calls.make(CONTENT, [suspect(8)] * failures).finding is finding


def test_files_that_changed_or_are_gone_are_no_controls(
    calls: ControlCalls, service: ScriptedService, tmp_path: Path
) -> None:
    """Their refusal would be their own."""
    calls.known.past = KnownPast([accepted(tmp_path, f"{number}.wav") for number in range(4)])
    (tmp_path / "0.wav").write_bytes(WAV.ljust(60, b"\1"))
    (tmp_path / "1.wav").write_bytes(WAV)
    (tmp_path / "2.wav").unlink()

    assert calls.make(CONTENT, []).finding is RIGHT
    assert sent_names(service, "0.wav", "1.wav", "2.wav", "3.wav") == ["3.wav"]


@pytest.mark.parametrize(("proof", "finding"), [(b"proof", RIGHT), (b"other", NO_CONTROL)])
def test_a_pair_is_a_control_if_its_sidecar_has_not_changed_either(
    calls: ControlCalls, service: ScriptedService, tmp_path: Path, *, proof: bytes, finding: ControlFinding
) -> None:
    """The sidecar is what is judged."""
    calls.known.past = KnownPast([accepted(tmp_path, "a.wav", sidecar=b"proof")])
    (tmp_path / "a.wav.proof").write_bytes(proof)

    assert calls.make(Subject(Doubt.CONTENT, Mode.LEGACY_PAIR), []).finding is finding
    sent = [set(body) for body in service.bodies if isinstance(body, dict)]
    assert sent == ([{"uploadId", "sidecar"}] if finding is RIGHT else [])


@pytest.fixture
def many(new_leg: LegBuilder) -> LegContext:
    return new_leg.leg(new_leg.plan(100))


def test_a_leg_of_many_files_begins_with_a_negative_control(many: LegContext, service: ScriptedService) -> None:
    """The probe audio, once for the mode that the run has; its exchanges belong to no row."""
    service.usual[Call.VERIFY] = REJECTED

    send_negative_control(many)

    many.journal.flush()
    assert many.stop.reason is None
    assert service.calls == THREE_CALLS
    assert journal_rows(many.results, many.plan, 1, "exchanges") == [None] * 3


def test_both_modes_are_asked_where_a_run_has_both(many: LegContext, service: ScriptedService) -> None:
    """Each may be wrong by itself; a pair has a sidecar."""
    service.usual[Call.VERIFY] = REJECTED

    send_negative_control(replace(many, plan=replace(many.plan, pairs=60)))

    assert service.calls == THREE_CALLS * 2
    assert [set(body) for body in service.bodies if isinstance(body, dict)] == [{"uploadId", "sidecar"}, {"uploadId"}]


def test_a_service_that_accepts_silence_ends_the_leg(many: LegContext) -> None:
    """Before any answer of it is believed."""
    send_negative_control(many)

    assert many.stop.reason is not None
    assert many.stop.reason.ended_by == "breaker"
    assert "accepted silence" in many.stop.reason.message


def test_a_leg_of_few_files_has_no_negative_control(new_leg: LegBuilder, service: ScriptedService) -> None:
    """Its two calls would be more than a hundredth of those of the leg."""
    send_negative_control(new_leg.leg(new_leg.plan(99)))

    assert service.calls == []
