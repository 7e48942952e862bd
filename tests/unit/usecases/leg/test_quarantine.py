"""Rows that may say more about the service than about the audio wait, and end the leg if they are many."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from proofsweep.client.stop import StopSwitch
from proofsweep.contract.models import VerifyResponse
from proofsweep.domain.anomalies import AnomalyGuard
from proofsweep.domain.items import WorkItem
from proofsweep.domain.outcomes import Accepted, Answer, Failed, Finished, Outcome, outcome_of
from proofsweep.domain.tables.columns import Row
from proofsweep.errors import ResultsError
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


class Unreadable(PastAnswers):
    """A results store that fails so many times before it can be read."""

    def __init__(self, failures: int) -> None:
        """Need no store."""
        self.failures = failures
        self.asked = 0

    def was_accepted(self, item_id: str) -> bool:
        """Fail, or know of no item."""
        del item_id
        self.asked += 1
        if self.asked <= self.failures:
            raise ResultsError("No route to the store.")
        return False


class SlowlyRead(PastAnswers):
    """A results store that takes its time."""

    def __init__(self) -> None:
        """Need no store."""
        self.is_asked, self.may_answer = threading.Event(), threading.Event()
        self.together, self.most_together = 0, 0

    def was_accepted(self, item_id: str) -> bool:
        """Answer when the test lets it."""
        del item_id
        self.together += 1
        self.most_together = max(self.most_together, self.together)
        self.is_asked.set()
        assert self.may_answer.wait(10.0)
        self.together -= 1
        return False


class Impatient(StopSwitch):
    """A switch at which no time passes."""

    def rest(self, seconds: float) -> None:
        """Only look whether the leg ends."""
        del seconds
        self.check()


@pytest.fixture
def quarantine(stop: StopSwitch) -> Quarantine:
    """Two verdicts alike, or three failures, are an anomaly; items `old-…` were accepted before."""
    past = OnceAccepted("old-0", "old-1", "old-2")
    return Quarantine(AnomalyGuard(verdicts=2, failures=3), past, stop, patience_seconds=20.0)


def pass_on(quarantine: Quarantine, outcome: Outcome, item_id: str) -> list[Row]:
    """End an item whose row is its ID."""
    item = WorkItem(manifest_row=0, item_id=item_id, audio="/a.wav")
    done = Finished(item=item, outcome=outcome, started_at=NOW, finished_at=NOW)
    return quarantine.admit(done, {"item_id": item_id})


@pytest.mark.parametrize("outcome", [ACCEPTED, REJECTED])
def test_an_answer_that_contradicts_nothing_passes_at_once(quarantine: Quarantine, outcome: Outcome) -> None:
    """A first rejection is as good as an acceptance."""
    assert pass_on(quarantine, outcome, "new") == [{"item_id": "new"}]


def test_an_acceptance_under_the_id_of_an_earlier_build_counts(quarantine: Quarantine, stop: StopSwitch) -> None:
    """The first run after an update has the history of the runs before it."""
    for number in range(2):
        item = WorkItem(manifest_row=0, item_id=f"new-{number}", former_item_id=f"old-{number}", audio="/a.wav")
        done = Finished(item=item, outcome=REJECTED, started_at=NOW, finished_at=NOW)
        assert quarantine.admit(done, {}) == []

    assert stop.reason is not None
    assert "accepted before are now unregistered" in stop.reason.message


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


def test_rows_are_held_until_they_are_released_or_dropped(quarantine: Quarantine) -> None:
    """The journal writes them as held meanwhile."""
    held = []
    for outcome, item_id in ((FAILED, "a"), (REJECTED, "b"), (FAILED, "c"), (FAILED, "d"), (FAILED, "e")):
        pass_on(quarantine, outcome, item_id)
        held.append([row["item_id"] for row in quarantine.held()])

    assert held == [["a"], [], ["c"], ["c", "d"], []]


def test_a_store_that_fails_while_past_answers_are_read_is_waited_for() -> None:
    """The row is written when the store is well again, and the leg goes on."""
    stop, past = Impatient(), Unreadable(failures=3)
    quarantine = Quarantine(AnomalyGuard(verdicts=2, failures=3), past, stop, patience_seconds=20.0)

    passed = pass_on(quarantine, REJECTED, "new")

    assert (passed, past.asked, stop.reason) == ([{"item_id": "new"}], 4, None)


def test_past_answers_that_stay_unreadable_end_the_leg_and_the_rows_remain() -> None:
    """It ends as in an outage, not as a mistake of this program; the second row does not wait for the store again."""
    stop, past = Impatient(), Unreadable(failures=99)
    quarantine = Quarantine(AnomalyGuard(verdicts=2, failures=3), past, stop, patience_seconds=0.0)

    passed = [pass_on(quarantine, REJECTED, item_id) for item_id in ("a", "b")]

    assert (passed, past.asked, quarantine.release()) == ([[], []], 1, [])
    assert stop.reason is not None
    assert stop.reason.ended_by == "breaker"
    assert stop.reason.message == "The answers of earlier runs cannot be read: No route to the store."


def test_the_past_is_not_asked_when_verdicts_are_no_anomaly(stop: StopSwitch) -> None:
    """A threshold of 0 turns that guard off, so a store that cannot be read does not matter."""
    past = Unreadable(failures=99)
    quarantine = Quarantine(AnomalyGuard(verdicts=0, failures=3), past, stop, patience_seconds=0.0)

    assert pass_on(quarantine, REJECTED, "old-0") == [{"item_id": "old-0"}]
    assert (past.asked, stop.reason) == (0, None)


def test_rows_without_doubt_do_not_wait_while_the_past_is_read(stop: StopSwitch) -> None:
    """One thread reads. Another rejection waits for it; an acceptance is written at once."""
    past = SlowlyRead()
    quarantine = Quarantine(AnomalyGuard(verdicts=2, failures=3), past, stop, patience_seconds=20.0)

    with ThreadPoolExecutor(3) as threads:
        rejections = [threads.submit(pass_on, quarantine, REJECTED, item_id) for item_id in ("a", "b")]
        assert past.is_asked.wait(10.0)
        try:
            accepted = threads.submit(pass_on, quarantine, ACCEPTED, "c").result(10.0)
        finally:
            past.may_answer.set()

    assert accepted == [{"item_id": "c"}]
    assert [rejection.result() for rejection in rejections] == [[{"item_id": "a"}], [{"item_id": "b"}]]
    assert past.most_together == 1
