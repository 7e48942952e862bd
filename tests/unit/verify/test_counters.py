"""What a progress display shows is counted as the items end."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict

import pytest

from proofsweep.client.scheduler import LaneStatus
from proofsweep.domain.items import WorkItem
from proofsweep.domain.models import VerifyResponse
from proofsweep.domain.outcomes import Accepted, Answer, AudioRead, Failed, Finished, Outcome, outcome_of
from proofsweep.verify.audit_trail import Counters

from ..scripted_service import NOW

ITEM = WorkItem(manifest_row=0, item_id="a", audio="/a.wav")
ACCEPTED = Accepted(Answer(VerifyResponse(good=True, verdict="valid"), "d"))
REJECTED = outcome_of(Answer(VerifyResponse(good=False, verdict="tampered"), "d"))
FAILED = Failed(reason="timeout", detail="")


def ended(outcome: Outcome) -> Finished:
    read = AudioRead(audio_format="wav", size_bytes=100, version="v")
    return Finished(item=ITEM, outcome=outcome, started_at=NOW, finished_at=NOW, read=read)


def told(writer: str, rate: float, *, accepted: int = 0, in_flight: int = 0, **lane: object) -> dict[str, object]:
    """What a worker process hands over: ten bytes, two calls and 1.5 s."""
    counted = {"rows": {"accepted": accepted}, "audio_bytes": 10, "calls": 2, "cpu_seconds": 1.5}
    return counted | {"writer": writer, "in_flight": in_flight, "lane": asdict(LaneStatus(rate, None, None)) | lane}


def test_rows_are_counted_by_outcome_and_bytes_by_answer() -> None:
    """A file that got no answer was not verified, though it was sent; no thread loses one."""
    counters = Counters()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(counters.note, [ended(outcome) for outcome in (ACCEPTED, ACCEPTED, REJECTED, FAILED)] * 300))

    assert counters.rows == {"accepted": 600, "rejected": 300, "failed": 300}
    assert counters.audio_bytes == 90_000


def test_what_worker_processes_have_done_is_added_up() -> None:
    """Each tells what it counted since the last time, and what it knows of the lane."""
    process, counters = Counters(), Counters()
    known = {"writer": "a", "lane": asdict(LaneStatus(5.0, 2, None, is_outage=True)), "in_flight": 0}
    for outcome in (ACCEPTED, REJECTED):
        process.note(ended(outcome))
        counters.take(process.hand_over() | known)
    counters.take(told("a", 5.0, most=2))
    counters.take(told("b", 6.0, accepted=1))

    assert counters.rows == {"accepted": 2, "rejected": 1}
    assert (counters.audio_bytes, counters.calls) == (220, 4)
    assert 3.0 <= counters.cpu_seconds < 4.0
    assert counters.lane == LaneStatus(11.0, 2, None)


def test_a_silent_process_no_longer_counts_for_the_lane(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its rows do; once the leg is over for all, the last that told counts."""
    counters = Counters()
    before = counters.lane
    monkeypatch.setattr("time.monotonic", lambda: 100.0)
    counters.take(told("a", 5.0, accepted=3, in_flight=8))
    monkeypatch.setattr("time.monotonic", lambda: 120.0)
    counters.take(told("b", 6.0, in_flight=2))
    monkeypatch.setattr("time.monotonic", lambda: 500.0)

    assert (before, counters.rows.total()) == (None, 3)
    assert (counters.lane, counters.in_flight) == (LaneStatus(6.0, None, None), 2)
