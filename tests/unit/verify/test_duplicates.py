"""The same bytes are answered once: later items take the answer of the first, and hold up no other item."""

import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from proofsweep.client.stop import StopSwitch
from proofsweep.domain.items import Mode, WorkItem
from proofsweep.domain.models import VerifyResponse
from proofsweep.domain.outcomes import Accepted, Answer, AudioRead, Deferred, Failed, Finished, Outcome
from proofsweep.sources.audio import open_audio
from proofsweep.verify.duplicates import DuplicateCache, DuplicateKey
from proofsweep.verify.threads import Workers


def test_many_copies_of_one_file_do_not_starve_the_run(tmp_path: Path) -> None:
    """While thirty of them wait for the first, other items begin."""
    workers = Workers(64)
    duplicates = DuplicateCache(StopSwitch(), make_room=workers.make_room)
    key, path = DuplicateKey(Mode.ONE_FILE, 3, 0, None), tmp_path / "a.wav"
    path.write_bytes(b"abc")
    other_work = threading.Event()

    def original() -> object:
        with open_audio(str(path)) as audio:
            return duplicates.original_of(key, audio)

    def copy() -> object:
        try:
            return original()
        finally:  # one that asks only after the first was settled is a first itself
            duplicates.settle(key, None)

    original()  # the first, whose own verification takes its time
    copies = [workers.submit(copy) for _ in range(30)]
    workers.submit(other_work.set)

    assert other_work.wait(10.0)
    assert not any(each.done() for each in copies)
    duplicates.settle(key, None)
    assert [each.result(10.0) for each in copies] == [None] * 30
    workers.shutdown()


NOW = datetime(2026, 11, 20, tzinfo=UTC)
ACCEPTED = Accepted(Answer(VerifyResponse(good=True, verdict="valid"), "0" * 64))
ITEM = WorkItem(manifest_row=0, item_id="a", audio="/a.wav")


ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def finished(outcome: Outcome, sha256: str | None, sidecar_sha256: str | None = None) -> Finished:
    """An item that ended with this outcome and these bytes."""
    read = AudioRead(audio_format="wav", size_bytes=3, version="v", sha256=sha256, sidecar_sha256=sidecar_sha256)
    return Finished(item=ITEM, outcome=outcome, started_at=NOW, finished_at=NOW, read=read)


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A file of three bytes."""
    (tmp_path / "a.wav").write_bytes(b"abc")
    return str(tmp_path / "a.wav")


@pytest.mark.parametrize(
    ("done", "is_served"),
    [
        (finished(ACCEPTED, ABC), True),
        (finished(ACCEPTED, "0" * 64), False),
        (finished(ACCEPTED, ABC, "1" * 64), False),
        (finished(Failed(reason="timeout", detail="d"), "0" * 64), False),
        (Deferred(ITEM), False),
        (None, False),
    ],
)
def test_only_an_answer_to_the_very_same_bytes_serves_another_item(
    path: str, done: Finished | Deferred | None, *, is_served: bool
) -> None:
    """Other bytes with the same key, a failure, an item that was put off or broke off: the next one is sent itself."""
    duplicates, key = DuplicateCache(StopSwitch()), DuplicateKey(Mode.ONE_FILE, 3, 0, None)

    with open_audio(path) as audio:
        first = duplicates.original_of(key, audio)
        duplicates.settle(key, done)
        second = duplicates.original_of(key, audio)

    assert first is None
    assert second is (done if is_served else None)


def test_the_oldest_answers_are_forgotten(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """So the cache does not grow with the catalog."""
    monkeypatch.setattr("proofsweep.verify.duplicates._MOST_ANSWERS", 2)
    duplicates = DuplicateCache(StopSwitch())

    with open_audio(path) as audio:
        for head in range(4):
            key = DuplicateKey(Mode.ONE_FILE, 3, head, None)
            assert duplicates.original_of(key, audio) is None
            duplicates.settle(key, finished(ACCEPTED, ABC))
        served = [duplicates.original_of(DuplicateKey(Mode.ONE_FILE, 3, head, None), audio) for head in (3, 0)]

    assert [each is not None for each in served] == [True, False]
