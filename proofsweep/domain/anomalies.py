"""Detect when bad outcomes in a row are probably the service's fault and not the files'. Pure.

An anomalous row is quarantined until another outcome shows that the service works, or until the leg ends. If too many
anomalies of one kind come in a row, their rows are dropped, so that they remain for a later leg.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from proofsweep.domain.outcomes import Accepted, Failed, Outcome, Rejected
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.domain.tables.columns import Row


@dataclass(frozen=True, slots=True)
class Anomaly:
    """One kind of suspicious outcome: a failure of the service, or a verdict against an earlier acceptance."""

    reason: str
    is_failure: bool


@dataclass(slots=True)
class AnomalyGuard:
    """Quarantine anomalous rows; expects all outcomes of a leg in the order in which they come.

    `anomaly_in` needs no lock, so that one thread may look an outcome up while others `admit` theirs.

    Attributes:
        verdicts: how many rows in a row, refused alike although accepted before, are too many; 0 allows any number.
        failures: the same for rows that fail alike.
        detected: the anomaly that came too often in a row; None if there was none.
    """

    verdicts: int
    failures: int
    detected: Anomaly | None = None
    _current: Anomaly | None = None
    _quarantined: list[Row] = field(default_factory=list)

    def anomaly_in(self, outcome: Outcome, was_accepted: Callable[[], bool]) -> Anomaly | None:
        """Name the anomaly in one outcome; None if there is none, or if any number of them is allowed.

        Args:
            outcome: the item's outcome.
            was_accepted: says whether the item's last answer before this run was an acceptance; called only if needed.
        """
        match outcome:
            case Failed(reason=Reason.SOURCE_CHANGED | Reason.SOURCE_UNAVAILABLE):
                return None
            case Failed(reason=reason) if self.failures:
                return Anomaly(reason, is_failure=True)
            case Rejected(answer=answer) if self.verdicts and was_accepted():
                return Anomaly(answer.response.verdict, is_failure=False)
            case Accepted() | Rejected() | Failed() | Ineligible():
                return None

    def admit(self, outcome: Outcome, anomaly: Anomaly | None, row: Row) -> list[Row]:
        """Give the rows that may be written now: this row and the quarantined ones, or none.

        Args:
            outcome: the item's outcome.
            anomaly: what `anomaly_in` found in it.
            row: its finished row.
        """
        if anomaly is None:
            return [*self.release(), row] if self._ends_quarantine(outcome) else [row]
        if anomaly == self.detected:
            return []
        released = self.release() if anomaly != self._current else []
        self._current = anomaly
        self._quarantined.append(row)
        if len(self._quarantined) >= self.threshold(anomaly):
            self.detected = anomaly
            self._quarantined.clear()
        return released

    def threshold(self, anomaly: Anomaly) -> int:
        """Give how many rows in a row are too many for one kind of anomaly."""
        return self.failures if anomaly.is_failure else self.verdicts

    def held(self) -> list[Row]:
        """Give the quarantined rows; they stay there."""
        return list(self._quarantined)

    def release(self) -> list[Row]:
        """Give the quarantined rows and end their quarantine."""
        rows, self._quarantined = self._quarantined, []
        return rows

    def _ends_quarantine(self, outcome: Outcome) -> bool:
        """Say whether this outcome shows that the service works: any answer after failures, else an acceptance."""
        if self._current is None or self._current.is_failure:
            return isinstance(outcome, Accepted | Rejected)
        return isinstance(outcome, Accepted)


def explain(anomaly: Anomaly, rows: int) -> str:
    """Say what happened and what to check, in a sentence or two for a person."""
    if anomaly.is_failure:
        return (
            f"{rows} rows in a row failed alike ({anomaly.reason}): suspect the service or a setting rather than the "
            "files, such as the sidecar's wire name (`proofsweep doctor --pair` checks it)."
        )
    return (
        f"{rows} rows in a row that were accepted before are now {anomaly.reason}: suspect another environment, the "
        "sidecar's wire name or an emptied registry. If it is true, resume with PROOFSWEEP_RETRY__STORM_VERDICTS=0."
    )
