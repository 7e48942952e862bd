"""A control takes something whose answer is known through the core flow."""

import io
import math
import threading
import wave
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from proofsweep.client.stop import StopSwitch
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import RunMustStop
from proofsweep.domain.exchanges import Call
from proofsweep.domain.items import Mode, WorkItem
from proofsweep.domain.models import VerifyResponse
from proofsweep.domain.outcomes import Accepted, Answer, AudioRead, Failed, Finished
from proofsweep.domain.runs import Bounds
from proofsweep.sources.audio import open_audio
from proofsweep.sources.files import Files
from proofsweep.store.known_rows import AcceptedItem, PastAnswers
from proofsweep.verify.fault import FAILURES_ALONE, ControlFinding, Doubt, Subject
from proofsweep.verify.item import VerifyContext, verify_item
from proofsweep.verify.probes import ControlCalls, ProbeFiles, probe_item
from proofsweep.verify.session import LegContext

from ..conftest import WAV, LegBuilder
from ..scripted_service import NOW, VALID, Scripted, ScriptedService

THREE_CALLS = [Call.UPLOADS, Call.SLOT, Call.VERIFY]
REJECTED = Scripted(document={"good": False, "verdict": "unreadable"})
UNREGISTERED = Scripted(document={"good": False, "verdict": "unregistered"})
REFUSED_KEY = Scripted(status=403, error_code="forbidden")
SERVICE, KEY, SIZE, CONTENT = (
    Subject(doubt, Mode.ONE_FILE) for doubt in (Doubt.SERVICE, Doubt.KEY, Doubt.SIZE, Doubt.CONTENT)
)
WRONG, RIGHT, NO_CONTROL, NOT_NOW = (
    ControlFinding.WRONG,
    ControlFinding.RIGHT,
    ControlFinding.NO_CONTROL,
    ControlFinding.NOT_NOW,
)
BREAKER, KEY_REFUSED = EndedBy.BREAKER, EndedBy.KEY_REFUSED


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
    """The controls of it; nothing was accepted before."""
    calls = leg.control.calls
    calls.known.past = KnownPast([])
    return calls


def accepted(folder: Path, name: str, size: int = 60, sidecar: bytes | None = None) -> AcceptedItem:
    """Write a file of so many bytes that an earlier run accepted."""
    audio, proof = folder / name, folder / f"{name}.proof"
    audio.write_bytes((WAV + name.encode()).ljust(size, b"\0"))
    digest = sha256(audio.read_bytes()).hexdigest()
    if sidecar is None:
        return AcceptedItem(size, str(audio), None, digest, None)
    proof.write_bytes(sidecar)
    return AcceptedItem(size, str(audio), str(proof), digest, sha256(sidecar).hexdigest())


def sent_names(service: ScriptedService, *names: str) -> list[str]:
    """Return which of these files were sent, in order."""
    return [name for upload in service.uploads for name in names if name.encode() in upload]


def suspect(size: int) -> Finished:
    return Finished(
        item=WorkItem(manifest_row=0, item_id="a", audio="/a.wav"),
        outcome=Failed(reason="timeout", detail=""),
        started_at=NOW,
        finished_at=NOW,
        read=AudioRead(audio_format="wav", size_bytes=size, version="v"),
    )


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
    leg.budget.take_snapshot(2, None)
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


@pytest.mark.parametrize("subject", [SERVICE, SIZE, CONTENT])
def test_a_control_that_the_end_of_the_leg_meets_has_shown_nothing(
    calls: ControlCalls, service: ScriptedService, stop: StopSwitch, tmp_path: Path, *, subject: Subject
) -> None:
    """Nobody is to blame for it."""
    calls.known.past = KnownPast([accepted(tmp_path, "small.wav")])
    service.usual[Call.UPLOADS] = Scripted(status=500)
    service.on_call = lambda _call: stop.pull(RunMustStop("Enough.", ended_by="cancelled"))

    assert calls.make(subject, [suspect(8)]).finding is NOT_NOW


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


def test_known_good_files_go_first_wherever_they_lie(
    calls: ControlCalls, service: ScriptedService, tmp_path: Path
) -> None:
    """They need no history, and may lie outside the catalog."""
    known = accepted(tmp_path, "known.wav")
    (tmp_path / "drop").mkdir()
    calls.verify = replace(calls.verify, files=Files(str(tmp_path / "drop")))
    calls.known_good = [
        WorkItem(manifest_row=0, item_id="a", audio=known.audio),
        WorkItem(manifest_row=1, item_id="b", audio=known.audio, sidecar="/none.proof"),
    ]

    assert calls.make(CONTENT, []).finding is RIGHT
    assert sent_names(service, "known.wav") == ["known.wav"]
    service.usual[Call.VERIFY] = UNREGISTERED
    assert calls.make(CONTENT, []).finding is WRONG


def noted(item: AcceptedItem, *, original: Finished | None = None, version: str | None = "v") -> Finished:
    return replace(
        suspect(item.audio_bytes),
        item=WorkItem(manifest_row=0, item_id="a", audio=item.audio),
        outcome=Accepted(Answer(VerifyResponse(good=True, verdict="valid"), "d")),
        read=AudioRead(audio_format="wav", size_bytes=item.audio_bytes, version=version, sha256=item.audio_sha256),
        original=original,
    )


def test_what_this_leg_accepted_serves_as_a_control(calls: ControlCalls, tmp_path: Path) -> None:
    """Not what another item's answer served, nor a proof, which has no file."""
    known = accepted(tmp_path, "a.wav")
    for done in (noted(known, original=noted(known)), noted(known, version=None), suspect(8)):
        calls.known.note(done)
    before = calls.make(CONTENT, []).finding

    calls.known.note(noted(known))

    assert (before, calls.make(CONTENT, []).finding) == (NO_CONTROL, RIGHT)


def test_the_probe_audio_is_a_wav_without_a_credential_that_goes_all_the_way(
    verify_context: VerifyContext, service: ScriptedService
) -> None:
    """A tenth of a second of mono silence in 16 bits, made here: only an acceptance shows that something is wrong."""
    done = verify_item(probe_item(Mode.ONE_FILE), replace(verify_context, files=ProbeFiles()))

    assert isinstance(done, Finished)
    assert service.calls == THREE_CALLS
    sent = service.uploads[0]
    with wave.open(io.BytesIO(sent[sent.index(b"RIFF") :])) as audio:
        assert (audio.getnchannels(), audio.getsampwidth(), audio.getframerate()) == (1, 2, 44_100)
        assert audio.readframes(10_000) == bytes(8_820)
    with open_audio(probe_item(Mode.ONE_FILE).audio, ProbeFiles()) as probe:
        assert not probe.has_credential()
        assert not probe.is_cut_short()
