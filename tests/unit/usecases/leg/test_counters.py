"""What a progress display shows is counted as the items end."""

from concurrent.futures import ThreadPoolExecutor

from proofsweep.contract.models import VerifyResponse
from proofsweep.domain.items import WorkItem
from proofsweep.domain.outcomes import Accepted, Answer, AudioRead, Failed, Finished, Outcome, outcome_of
from proofsweep.usecases.leg.counters import Counters

from ..scripted_service import NOW

ITEM = WorkItem(manifest_row=0, item_id="a", audio="/a.wav")
ACCEPTED = Accepted(Answer(VerifyResponse(good=True, verdict="valid"), "d"))
REJECTED = outcome_of(Answer(VerifyResponse(good=False, verdict="tampered"), "d"))
FAILED = Failed(reason="timeout", detail="")


def ended(outcome: Outcome) -> Finished:
    """End an item whose audio has 100 bytes."""
    read = AudioRead(audio_format="wav", size_bytes=100, version="v")
    return Finished(item=ITEM, outcome=outcome, started_at=NOW, finished_at=NOW, read=read)


def test_rows_are_counted_by_outcome_and_bytes_by_answer() -> None:
    """A file that got no answer was not verified, though it was sent."""
    counters = Counters()

    for outcome in (ACCEPTED, ACCEPTED, REJECTED, FAILED):
        counters.note(ended(outcome))

    assert counters.rows == {"accepted": 2, "rejected": 1, "failed": 1}
    assert counters.audio_bytes == 300


def test_threads_count_together() -> None:
    """None of their items is lost."""
    counters = Counters()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(counters.note, [ended(ACCEPTED)] * 1_000))

    assert (counters.rows["accepted"], counters.audio_bytes) == (1_000, 100_000)
