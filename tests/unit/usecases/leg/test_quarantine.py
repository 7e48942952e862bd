"""Rows that may say more about the service than about the audio wait, and end the leg if they are many."""

import pytest

from proofsweep.client.stop import StopSwitch
from proofsweep.contract.models import VerifyResponse
from proofsweep.domain.anomalies import AnomalyGuard
from proofsweep.domain.items import WorkItem
from proofsweep.domain.outcomes import Accepted, Answer, Failed, Finished, Outcome, outcome_of
from proofsweep.domain.tables.columns import Row
from proofsweep.storage.results.past_answers import PastAnswers
from proofsweep.usecases.leg.quarantine import Quarantine

from ..scripted_service import NOW

ACCEPTED = Accepted(Answer(VerifyResponse(good=True, verdict="valid"), "d"))
REJECTED = outcome_of(Answer(VerifyResponse(good=False, verdict="unregistered"), "d"))
FAILED = Failed(reason="timeout", detail="")


class OnceAccepted(PastAnswers):
    """An earlier run that accepted the items with these IDs."""

    def __init__(self, *accepted: str) -> None:
        """Need no store."""
        self.accepted = accepted

    def was_accepted(self, item_id: str) -> bool:
        """Look it up."""
        return item_id in self.accepted


@pytest.fixture
def quarantine(stop: StopSwitch) -> Quarantine:
    """Two verdicts alike, or three failures, are an anomaly; items `old-…` were accepted before."""
    return Quarantine(AnomalyGuard(verdicts=2, failures=3), OnceAccepted("old-0", "old-1", "old-2"), stop)


def pass_on(quarantine: Quarantine, outcome: Outcome, item_id: str) -> list[Row]:
    """End an item whose row is its ID."""
    item = WorkItem(manifest_row=0, item_id=item_id, audio="/a.wav")
    done = Finished(item=item, outcome=outcome, started_at=NOW, finished_at=NOW)
    return quarantine.admit(done, {"item_id": item_id})


@pytest.mark.parametrize("outcome", [ACCEPTED, REJECTED])
def test_an_answer_that_contradicts_nothing_passes_at_once(quarantine: Quarantine, outcome: Outcome) -> None:
    """A first rejection is as good as an acceptance."""
    assert pass_on(quarantine, outcome, "new") == [{"item_id": "new"}]


def test_failures_wait_until_the_service_answers(quarantine: Quarantine, stop: StopSwitch) -> None:
    """An answer for another file shows that they were the files' own; then they are written down with it."""
    waiting = [pass_on(quarantine, FAILED, item_id) for item_id in ("a", "b")]

    passed = pass_on(quarantine, REJECTED, "c")

    assert waiting == [[], []]
    assert [row["item_id"] for row in passed] == ["a", "b", "c"]
    assert stop.reason is None


def test_an_anomaly_ends_the_leg_and_its_rows_remain(quarantine: Quarantine, stop: StopSwitch) -> None:
    """None of them is written down, now or when the leg ends: a later leg verifies them."""
    passed = [pass_on(quarantine, FAILED, item_id) for item_id in ("a", "b", "c", "d")]

    assert passed == [[]] * 4
    assert quarantine.release() == []
    assert stop.reason is not None
    assert stop.reason.ended_by == "breaker"
    assert stop.reason.message.startswith("3 rows in a row failed alike (timeout)")


def test_rejections_of_what_was_accepted_before_are_an_anomaly(quarantine: Quarantine, stop: StopSwitch) -> None:
    """Rather than that many files changed overnight, the environment is another; new files are not counted."""
    passed = [pass_on(quarantine, REJECTED, item_id) for item_id in ("old-0", "new", "old-1")]

    assert [[row["item_id"] for row in rows] for rows in passed] == [[], ["new"], []]
    assert stop.reason is not None
    assert "accepted before are now unregistered" in stop.reason.message


def test_rows_too_few_for_an_anomaly_are_released_at_the_end(quarantine: Quarantine) -> None:
    """They are released once."""
    pass_on(quarantine, FAILED, "a")

    assert [quarantine.release(), quarantine.release()] == [[{"item_id": "a"}], []]
