"""A check takes something whose answer is known: our own silence, files that were accepted, or files that were read."""

import threading
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ResourceShortage, RunMustStop
from proofsweep.domain.exchanges import Call
from proofsweep.domain.items import Mode
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.domain.runs import Bounds
from proofsweep.store.known_rows import AcceptedItem
from proofsweep.verify import probes
from proofsweep.verify.leg import Leg
from proofsweep.verify.probes import CheckFinding, Checks

from ..conftest import WAV, LegBuilder
from ..left_behind import journal_rows
from ..scripted_service import VALID, Scripted, ScriptedService
from .conftest import ClosedFiles, KnownPast

MISSING = Ineligible(Reason.MISSING_AUDIO, "There is no audio.")
THREE_CALLS = [Call.UPLOADS, Call.SLOT, Call.VERIFY]
REJECTED = Scripted(document={"good": False, "verdict": "unreadable"})
UNREGISTERED = Scripted(document={"good": False, "verdict": "unregistered"})
REFUSED_KEY = Scripted(status=403, error_code="forbidden")
ONE_FILE, PAIR = Mode.ONE_FILE, Mode.LEGACY_PAIR
WRONG, RIGHT = CheckFinding.WRONG, CheckFinding.RIGHT
BREAKER, KEY_REFUSED = EndedBy.BREAKER, EndedBy.KEY_REFUSED
PROBES = [
    # Any verdict but `valid` shows that the service works.
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


@pytest.fixture
def leg(new_leg: LegBuilder) -> Leg:
    return new_leg.leg(new_leg.plan(1))


@pytest.fixture
def checks(leg: Leg) -> Checks:
    checks = leg.attribution.checks
    checks.known.past = KnownPast()
    return checks


def accepted(folder: Path, name: str, size: int = 60, sidecar: bytes | None = None) -> AcceptedItem:
    audio, proof = folder / name, folder / f"{name}.proof"
    audio.write_bytes((WAV + name.encode()).ljust(size, b"\0"))
    digest = sha256(audio.read_bytes()).hexdigest()
    if sidecar is None:
        return AcceptedItem(size, str(audio), None, digest, None)
    proof.write_bytes(sidecar)
    return AcceptedItem(size, str(audio), str(proof), digest, sha256(sidecar).hexdigest())


@pytest.mark.parametrize(("call", "answer", "finding", "ended_by"), PROBES)
def test_silence_shows_whether_the_service_works(
    leg: Leg, service: ScriptedService, call: Call, answer: Scripted, *, finding: CheckFinding, ended_by: EndedBy
) -> None:
    """One row, one answer; the comments in the table say why. Its exchanges belong to no row."""
    service.usual[call] = answer

    result = leg.attribution.checks.probe_service(ONE_FILE)
    leg.trail.flush()

    assert (result.finding, result.ended_by) == (finding, ended_by)
    assert bool(result.why) is (finding is WRONG)
    assert set(journal_rows(leg.results, leg.plan, 1, "exchanges")) == {None}


def test_a_pair_is_probed_with_a_sidecar_and_where_a_verdict_is_needed_a_status_is_none(
    checks: Checks, service: ScriptedService
) -> None:
    """Else a wrong wire name of the sidecar would look right."""
    service.script[Call.VERIFY] = [REJECTED, Scripted(status=422), Scripted(status=422)]

    findings = [checks.probe_service(PAIR, needs_verdict=needed).finding for needed in (True, False, True)]

    assert findings == [RIGHT, RIGHT, WRONG]
    assert [set(body) for body in service.bodies if isinstance(body, dict)] == [{"uploadId", "sidecar"}] * 3


def test_the_quota_is_asked_for_while_all_others_are_held(leg: Leg, checks: Checks, service: ScriptedService) -> None:
    """By this leg's account no call is left for a probe; the service knows better."""
    service.usual[Call.VERIFY] = REJECTED
    leg.budget.record_reading(2, None)
    leg.scheduler.probe_failed()
    found: list[CheckFinding] = []

    thread = threading.Thread(target=lambda: found.append(checks.probe_service(ONE_FILE).finding), daemon=True)
    thread.start()
    thread.join(3.0)
    leg.stop.pull(RunMustStop("The test is over.", ended_by="cancelled"))
    thread.join(10.0)

    assert found == [RIGHT]
    assert service.calls == [Call.USAGE, *THREE_CALLS]


@pytest.mark.parametrize("sends_known", [True, False])
def test_without_calls_for_it_no_check_is_made_now(
    new_leg: LegBuilder, service: ScriptedService, tmp_path: Path, *, sends_known: bool
) -> None:
    leg = new_leg.leg(new_leg.plan(1), bounds=Bounds(max_calls=2))
    checks = leg.attribution.checks
    checks.known.past = KnownPast([accepted(tmp_path, "small.wav")])

    with pytest.raises(RunMustStop) as ended:
        checks.send_known(ONE_FILE) if sends_known else checks.probe_service(ONE_FILE)

    assert service.calls == []
    assert ended.value.ended_by == "window"


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
    checks: Checks, service: ScriptedService, tmp_path: Path, *, answers: list[Scripted], finding: CheckFinding
) -> None:
    """Fewer, where fewer are known."""
    checks.known.past = KnownPast([accepted(tmp_path, f"{number}.wav") for number in range(len(answers))])
    service.script[Call.VERIFY] = list(answers)

    assert checks.send_known(ONE_FILE).finding is finding
    assert service.calls == THREE_CALLS * len(answers)


def test_the_audio_that_alone_is_in_question_is_not_sent_again(
    checks: Checks, service: ScriptedService, tmp_path: Path
) -> None:
    """Its proof may be withdrawn, which says nothing of the registry; the same bytes may lie there twice."""
    withdrawn, other = (accepted(tmp_path, name) for name in ("a.wav", "b.wav"))
    checks.known.past = KnownPast([withdrawn, replace(withdrawn, audio=str(tmp_path / "again.wav")), other])

    assert checks.send_known(ONE_FILE, withdrawn.audio_sha256).finding is RIGHT
    assert [b"b.wav" in upload for upload in service.uploads] == [True]


def test_files_that_changed_or_are_gone_are_not_sent(checks: Checks, service: ScriptedService, tmp_path: Path) -> None:
    """Their refusal would be their own."""
    checks.known.past = KnownPast([accepted(tmp_path, f"{number}.wav") for number in range(4)])
    (tmp_path / "0.wav").write_bytes(WAV.ljust(60, b"\1"))
    (tmp_path / "1.wav").write_bytes(WAV)
    (tmp_path / "2.wav").unlink()

    assert checks.send_known(ONE_FILE).finding is RIGHT
    assert [b"3.wav" in upload for upload in service.uploads] == [True]


def test_a_file_whose_proof_was_erased_beside_a_leg_is_not_sent(
    checks: Checks, service: ScriptedService, tmp_path: Path
) -> None:
    """It is refused on our own demand, which says nothing of the registry: else a takedown would end the leg."""
    past = KnownPast([replace(accepted(tmp_path, f"{number}.wav"), proof_id=f"p-{number}") for number in range(3)])
    checks.known.past = past
    before = checks.known.accepted()
    past.proofs_erased = ["p-0", "p-1"]

    assert checks.send_known(ONE_FILE).finding is RIGHT
    assert [b"2.wav" in upload for upload in service.uploads] == [True]
    assert len(before) == 3


def test_known_files_that_cannot_be_opened_here_are_no_changed_ones(checks: Checks, tmp_path: Path) -> None:
    """They are sent later."""
    checks.known.past = KnownPast([accepted(tmp_path, "a.wav")])
    short = replace(checks.verify, files=ClosedFiles(ResourceShortage("Short.", reason="")))

    with pytest.raises(ResourceShortage):
        replace(checks, verify=short).send_known(ONE_FILE)


def test_silence_that_cannot_be_read_is_no_mistake_of_the_program(
    checks: Checks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probes, "_SILENCE", Path("/nowhere.wav"))

    assert checks.probe_service(ONE_FILE).finding is WRONG


@pytest.mark.parametrize(("proof", "finding"), [(b"proof", RIGHT), (b"other", CheckFinding.NOTHING_KNOWN)])
def test_a_pair_is_sent_if_its_sidecar_has_not_changed_either(
    checks: Checks, service: ScriptedService, tmp_path: Path, *, proof: bytes, finding: CheckFinding
) -> None:
    checks.known.past = KnownPast([accepted(tmp_path, "a.wav", sidecar=b"proof")])
    (tmp_path / "a.wav.proof").write_bytes(proof)

    assert checks.send_known(PAIR).finding is finding
    sent = [set(body) for body in service.bodies if isinstance(body, dict)]
    assert sent == ([{"uploadId", "sidecar"}] if finding is RIGHT else [])
