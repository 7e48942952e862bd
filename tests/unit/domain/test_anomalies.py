"""Anomalous rows are quarantined until it is clear whether the service or the files are at fault."""

import pytest

from proofsweep.contract.models import VerifyResponse
from proofsweep.domain.anomalies import Anomaly, AnomalyGuard, explain
from proofsweep.domain.outcomes import Accepted, Answer, Failed, Outcome, Rejected, outcome_of
from proofsweep.domain.reasons import Ineligible, Reason

HTTP_400 = Failed(reason="http_400", detail="Status 400.")


def answered(verdict: str) -> Accepted | Rejected:
    """The outcome of an answer with this verdict."""
    return outcome_of(Answer(VerifyResponse(good=verdict == "valid", verdict=verdict), "0" * 64))


def admitted(guard: AnomalyGuard, outcomes: list[Outcome], *, was_accepted: bool = False) -> list[list[int]]:
    """The rows that may be written after each outcome; a row has the number of its outcome."""
    rows_of_each = [
        guard.admit(outcome, guard.anomaly_in(outcome, lambda: was_accepted), {"manifest_row": row})
        for row, outcome in enumerate(outcomes)
    ]
    return [[int(str(row["manifest_row"])) for row in rows] for rows in rows_of_each]


@pytest.mark.parametrize(
    ("outcome", "was_accepted", "anomaly"),
    [
        (answered("valid"), True, None),
        (answered("unregistered"), False, None),
        (answered("unregistered"), True, Anomaly("unregistered", is_failure=False)),
        (HTTP_400, False, Anomaly("http_400", is_failure=True)),
        (Failed(reason=Reason.SOURCE_CHANGED, detail=""), True, None),
        (Ineligible(Reason.EMPTY, ""), True, None),
    ],
)
def test_a_failure_and_a_lost_acceptance_are_anomalies(
    outcome: Outcome, was_accepted: bool, anomaly: Anomaly | None
) -> None:
    """A failure of the service is one, and so is a refusal of what was accepted before; a file's own fault is not."""
    assert AnomalyGuard(verdicts=1, failures=1).anomaly_in(outcome, lambda: was_accepted) == anomaly


def test_a_single_failure_is_written_after_the_next_answer() -> None:
    """It waits for any answer, accepted or not, and is written before it."""
    guard = AnomalyGuard(verdicts=3, failures=3)

    assert admitted(guard, [HTTP_400, HTTP_400, answered("tampered"), HTTP_400]) == [[], [], [0, 1, 2], []]
    assert guard.detected is None
    assert guard.release() == [{"manifest_row": 3}]


def test_too_many_failures_drop_the_quarantined_rows() -> None:
    """After three alike in a row none of them is ever written, nor is a fourth that comes late."""
    guard = AnomalyGuard(verdicts=3, failures=3)

    assert admitted(guard, [HTTP_400] * 4) == [[], [], [], []]
    assert guard.detected == Anomaly("http_400", is_failure=True)
    assert guard.release() == []


def test_failures_of_different_kinds_are_counted_apart() -> None:
    """Each kind begins its own count and releases the rows of the kind before."""
    guard = AnomalyGuard(verdicts=2, failures=2)

    assert admitted(guard, [HTTP_400, Failed(reason="http_404", detail=""), HTTP_400]) == [[], [0], [1]]


def test_only_an_acceptance_ends_a_series_of_lost_acceptances() -> None:
    """Another refusal does not show that the registry is the right one."""
    guard = AnomalyGuard(verdicts=3, failures=3)
    gone = answered("unregistered")

    rows = admitted(guard, [gone, answered("valid"), gone, gone, gone], was_accepted=True)

    assert rows == [[], [0, 1], [], [], []]
    assert guard.detected == Anomaly("unregistered", is_failure=False)


def test_a_bad_delivery_is_not_an_anomaly() -> None:
    """Files that were never accepted may all be refused."""
    guard = AnomalyGuard(verdicts=2, failures=2)

    assert admitted(guard, [answered("unregistered")] * 3) == [[0], [1], [2]]


def test_a_threshold_of_zero_turns_the_guard_off() -> None:
    """Then every row is written at once."""
    assert admitted(AnomalyGuard(verdicts=0, failures=0), [HTTP_400] * 3, was_accepted=True) == [[0], [1], [2]]


def test_the_explanation_says_what_to_do() -> None:
    """It names the reason and, for a verdict, how to continue."""
    assert "http_400" in explain(Anomaly("http_400", is_failure=True), 20)
    assert "PROOFSWEEP_RETRY__STORM_VERDICTS=0" in explain(Anomaly("unregistered", is_failure=False), 20)
