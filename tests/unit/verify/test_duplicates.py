"""The same bytes are answered once: later items take the answer of the first, and hold up no other item."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from proofsweep.config.threads import Future, StopSwitch
from proofsweep.domain.exchanges import Call
from proofsweep.domain.items import FileFacts, Mode, WorkItem
from proofsweep.domain.models import VerifyResponse
from proofsweep.domain.outcomes import Accepted, Answer, AudioRead, Deferred, Failed, Finished, Outcome, Rejected
from proofsweep.domain.reasons import Reason
from proofsweep.files.audio import AudioFile, open_audio
from proofsweep.files.files import Files
from proofsweep.verify.duplicates import DuplicateCache, DuplicateKey, Turn
from proofsweep.verify.workers import Workers

from ..scripted_service import NOW, Scripted
from .conftest import Trial, append_to

REJECTED = Scripted(document={"good": False, "verdict": "unreadable"})
ACCEPTED = Accepted(Answer(VerifyResponse(good=True, verdict="valid"), "0" * 64))
ITEM = WorkItem(manifest_row=0, item_id="a", audio="/a.wav")
KEY = DuplicateKey(Mode.ONE_FILE, 3, 0, None)
ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def turn_of(duplicates: DuplicateCache, key: DuplicateKey, audio: AudioFile) -> Turn:
    """Ask for a file with the same bytes, of which there is none that counts."""
    turn = duplicates.original_of(key, audio)
    assert isinstance(turn, Future)
    return turn


@pytest.fixture
def path(tmp_path: Path) -> str:
    (tmp_path / "abc.wav").write_bytes(b"abc")
    return str(tmp_path / "abc.wav")


def test_many_copies_of_one_file_do_not_starve_the_run(path: str) -> None:
    """While thirty of them wait for the first, other items begin."""
    workers = Workers(64)
    duplicates = DuplicateCache(StopSwitch(), make_room=workers.make_room)
    other_work = threading.Event()

    def original() -> Finished | Turn | None:
        with open_audio(path) as audio:
            return duplicates.original_of(KEY, audio)

    def copy() -> None:
        turn = original()
        if isinstance(turn, Future):  # one that asks only after the first was settled is a first itself
            duplicates.resolve(KEY, turn, None)

    first = original()  # its own verification takes its time
    assert isinstance(first, Future)
    copies = [workers.submit(copy) for _ in range(30)]
    workers.submit(other_work.set)

    assert other_work.wait(10.0)
    assert not any(each.done() for each in copies)
    duplicates.resolve(KEY, first, None)
    assert [each.result(10.0) for each in copies] == [None] * 30
    workers.shutdown()


def ended(outcome: Outcome, sha256: str | None, sidecar_sha256: str | None = None) -> Finished:
    read = AudioRead(audio_format="wav", size_bytes=3, version="v", sha256=sha256, sidecar_sha256=sidecar_sha256)
    return Finished(item=ITEM, outcome=outcome, started_at=NOW, finished_at=NOW, read=read)


@pytest.mark.parametrize(
    ("done", "is_served"),
    [
        (ended(ACCEPTED, ABC), True),
        (ended(ACCEPTED, "0" * 64), False),
        (ended(ACCEPTED, ABC, "1" * 64), False),
        (ended(Failed(reason="timeout", detail="d"), "0" * 64), False),
        (Deferred(ITEM), False),
        (None, False),
    ],
)
def test_only_an_answer_to_the_very_same_bytes_serves_another_item(
    path: str, done: Finished | Deferred | None, *, is_served: bool
) -> None:
    """Other bytes with the same key, a failure, an item that was put off or broke off: the next one is sent itself."""
    duplicates = DuplicateCache(StopSwitch())

    with open_audio(path) as audio:
        duplicates.resolve(KEY, turn_of(duplicates, KEY, audio), done)
        second = duplicates.original_of(KEY, audio)

    assert (second is done) is is_served


def test_the_oldest_answers_are_forgotten(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """So the cache does not grow with the catalog."""
    monkeypatch.setattr("proofsweep.verify.duplicates._MOST_ANSWERS", 2)
    duplicates, keys = DuplicateCache(StopSwitch()), [replace(KEY, head_digest=head) for head in range(4)]

    with open_audio(path) as audio:
        for key in keys:
            duplicates.resolve(key, turn_of(duplicates, key, audio), ended(ACCEPTED, ABC))
        served = [duplicates.original_of(key, audio) for key in (keys[3], keys[0])]

    assert [isinstance(each, Finished) for each in served] == [True, False]


def test_long_answers_are_forgotten_sooner(path: str) -> None:
    """Two thousand answers of 2 MiB would take all memory."""
    duplicates, keys = DuplicateCache(StopSwitch()), [replace(KEY, head_digest=head) for head in range(10)]
    response = VerifyResponse(good=True, verdict="valid", interpretation={"text": "x" * 2_000_000})
    long = ended(Accepted(Answer(response, ABC)), ABC)

    with open_audio(path) as audio:
        for key in keys:
            duplicates.resolve(key, turn_of(duplicates, key, audio), long)
        served = [duplicates.original_of(key, audio) for key in (keys[9], keys[0])]

    assert [isinstance(each, Finished) for each in served] == [True, False]


@pytest.fixture
def caching(trial: Trial, stop: StopSwitch) -> Trial:
    trial.context = replace(trial.context, duplicates=DuplicateCache(stop))
    return trial


def test_a_copy_with_the_sidecar_that_was_not_answered_is_sent_itself(caching: Trial, tmp_path: Path) -> None:
    """A slot expires, and the sidecar is corrected before the next one: only the corrected one is accepted."""
    service, sidecars = caching.service, [tmp_path / "a.sidecar", tmp_path / "copy.sidecar"]
    for sidecar in sidecars:
        sidecar.write_bytes(b"damaged")
    service.script[Call.SLOT] = [Scripted(status=403)]
    service.on_answer = lambda call: call is Call.SLOT and sidecars[0].write_bytes(b"proof")

    first = caching.finished(replace(caching.item, sidecar=str(sidecars[0])))
    service.usual[Call.VERIFY] = REJECTED
    second = caching.finished(replace(caching.item, manifest_row=8, sidecar=str(sidecars[1])))

    assert isinstance(first.outcome, Accepted)
    assert isinstance(second.outcome, Rejected)
    assert second.original is None
    assert service.bodies == [{"uploadId": "u", "sidecar": base64} for base64 in ("cHJvb2Y=", "ZGFtYWdlZA==")]


def test_a_copy_that_grows_does_not_take_over_a_rejection(caching: Trial, tmp_path: Path) -> None:
    """It had the same bytes as a rejected file when it was read, and its delivery went on."""
    copy = tmp_path / "copy.wav"
    copy.write_bytes(caching.path.read_bytes())

    class Growing(Files):
        def facts(self, location: str) -> FileFacts | None:
            if location == str(copy):
                append_to(copy)
            return super().facts(location)

    caching.service.usual[Call.VERIFY] = REJECTED

    first = caching.finished(files=Growing())
    second = caching.finished(replace(caching.item, manifest_row=8, audio=str(copy)), files=Growing())

    assert isinstance(first.outcome, Rejected)
    assert isinstance(second.outcome, Failed)
    assert (second.outcome.reason, second.original) == (Reason.SOURCE_CHANGED, None)


def test_copies_of_a_file_that_gets_no_answer_are_not_sent_one_after_the_other_for_ever(path: str) -> None:
    """Each waits for three of them at most: in a service that refuses the file, a thousand copies would take hours."""
    failed = 0

    class Switch(StopSwitch):
        def rest(self, seconds: float) -> None:
            """Let the copy that is sent fail, and another one be sent."""
            nonlocal failed
            failed += 1
            assert seconds > 0.0
            duplicates.resolve(KEY, turns[-1], None)
            turns.append(turn_of(duplicates, KEY, audio))

    duplicates, turns = DuplicateCache(Switch()), list[Turn]()
    with open_audio(path) as audio:
        turns.append(turn_of(duplicates, KEY, audio))

        assert duplicates.original_of(KEY, audio) is None

    assert failed == 3


def test_an_answer_from_before_a_check_that_came_out_wrong_serves_nobody(path: str) -> None:
    """Neither who waited for it, nor who comes later; and it does not end the turn of the one that is sent since."""
    duplicates, waiting = DuplicateCache(StopSwitch()), threading.Event()
    wrong, right = (
        ended(Accepted(Answer(VerifyResponse(good=True, verdict="valid"), "1" * 64)), ABC),
        ended(ACCEPTED, ABC),
    )
    workers = Workers(2)

    with open_audio(path) as audio:
        before = turn_of(duplicates, KEY, audio)

        def wait() -> object:
            waiting.set()
            with open_audio(path) as copy:
                return duplicates.original_of(KEY, copy)

        waiter = workers.submit(wait)
        waiting.wait(10.0)
        duplicates.forget()
        since = waiter.result(10.0)
        assert isinstance(since, Future)
        duplicates.resolve(KEY, before, wrong)
        duplicates.resolve(KEY, since, right)

        assert duplicates.original_of(KEY, audio) is right
    workers.shutdown()
