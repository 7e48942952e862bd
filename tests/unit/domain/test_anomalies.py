"""Doubtful rows are held back until it is clear whose fault they are."""

import pytest

from proofsweep.contract.models import VerifyResponse
from proofsweep.domain.anomalies import Anomaly, AnomalyGuard, anomaly_in, suspicion
from proofsweep.domain.outcomes import Accepted, Answer, Failed, Outcome, Rejected, outcome_of
from proofsweep.domain.reasons import Ineligible, Reason

HTTP_400 = Failed(reason="http_400", detail="Status 400.")


def answered(verdict: str) -> Accepted | Rejected:
    """The outcome of an answer with this verdict."""
    return outcome_of(Answer(VerifyResponse(good=verdict == "valid", verdict=verdict), "0" * 64))


def seen(watch: AnomalyGuard, outcomes: list[Outcome], *, was_accepted: bool = False) -> list[list[int]]:
    """The rows that each outcome let pass; a row is numbered by its outcome's place."""
    passed = [
        watch.pass_on(outcome, {"manifest_row": row}, lambda: was_accepted) for row, outcome in enumerate(outcomes)
    ]
    return [[int(str(row["manifest_row"])) for row in rows] for rows in passed]


@pytest.mark.parametrize(
    ("outcome", "was_accepted", "doubt"),
    [
        (answered("valid"), True, None),
        (answered("unregistered"), False, None),
        (answered("unregistered"), True, Anomaly("unregistered", is_failure=False)),
        (HTTP_400, False, Anomaly("http_400", is_failure=True)),
        (Failed(reason=Reason.SOURCE_CHANGED, detail=""), True, None),
        (Ineligible(Reason.EMPTY, ""), True, None),
    ],
)
def test_what_is_doubtful(outcome: Outcome, was_accepted: bool, doubt: Anomaly | None) -> None:
    """A failure of the service is, and a refusal of what was accepted before; a file's own fault is not."""
    assert anomaly_in(outcome, lambda: was_accepted) == doubt


def test_a_lone_failure_is_written_once_the_service_answers_another() -> None:
    """It waits for the next answer, good or bad, and then goes first."""
    watch = AnomalyGuard(verdicts=3, failures=3)

    assert seen(watch, [HTTP_400, HTTP_400, answered("tampered"), HTTP_400]) == [[], [], [0, 1, 2], []]
    assert watch.storm is None
    assert watch.release() == [{"manifest_row": 3}]


def test_a_storm_of_failures_drops_what_it_held() -> None:
    """Three alike in a row are a storm: none of them is ever written down, nor is a straggler."""
    watch = AnomalyGuard(verdicts=3, failures=3)

    assert seen(watch, [HTTP_400] * 4) == [[], [], [], []]
    assert watch.storm == Anomaly("http_400", is_failure=True)
    assert watch.release() == []


def test_failures_of_different_kinds_are_no_storm() -> None:
    """Each kind begins its own count, and lets the one before pass."""
    watch = AnomalyGuard(verdicts=2, failures=2)

    assert seen(watch, [HTTP_400, Failed(reason="http_404", detail=""), HTTP_400]) == [[], [0], [1]]


def test_a_storm_of_one_verdict_is_ended_by_an_acceptance_only() -> None:
    """Another refusal says nothing of whether the registry is the right one."""
    watch = AnomalyGuard(verdicts=3, failures=3)
    gone = answered("unregistered")

    passed = seen(watch, [gone, answered("valid"), gone, gone, gone], was_accepted=True)

    assert passed == [[], [0, 1], [], [], []]
    assert watch.storm == Anomaly("unregistered", is_failure=False)


def test_a_bad_delivery_is_no_storm() -> None:
    """Files that were never accepted may all be refused."""
    watch = AnomalyGuard(verdicts=2, failures=2)

    assert seen(watch, [answered("unregistered")] * 3) == [[0], [1], [2]]


def test_a_threshold_of_zero_never_doubts() -> None:
    """Whoever knows that it is true writes everything down."""
    assert seen(AnomalyGuard(verdicts=0, failures=0), [HTTP_400] * 3, was_accepted=True) == [[0], [1], [2]]


def test_the_suspicion_says_what_to_do() -> None:
    """It names what came, and for a verdict the way to go on."""
    assert "http_400" in suspicion(Anomaly("http_400", is_failure=True), 20)
    assert "PROOFSWEEP_RETRY__STORM_VERDICTS=0" in suspicion(Anomaly("unregistered", is_failure=False), 20)
