"""When a row of bad outcomes says more about the service's night than about the music: pure.

A doubtful row is held back until another outcome shows that the service is well, or until the run ends. If instead so
many come in a row, that is a storm: the rows held are dropped, so that they remain for a later leg.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from proofsweep.domain.outcomes import Accepted, Failed, Outcome, Rejected
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.domain.tables.columns import Row


@dataclass(frozen=True, slots=True)
class Anomaly:
    """What is doubtful in an outcome: a failure of the service, or a verdict that contradicts an earlier acceptance."""

    word: str
    is_failure: bool


@dataclass(slots=True)
class AnomalyGuard:
    """Sees all outcomes of a leg in the order in which they come.

    Attributes:
        verdicts: so many refusals in a row, alike and of what was accepted before, are a storm; 0 never doubts them.
        failures: the same for rows that fail alike.
        storm: the storm that broke; None as long as there was none.
    """

    verdicts: int
    failures: int
    storm: Anomaly | None = None
    _doubt: Anomaly | None = None
    _held: list[Row] = field(default_factory=list)

    def pass_on(self, outcome: Outcome, row: Row, was_accepted: Callable[[], bool]) -> list[Row]:
        """Give the rows that may be written down now: this one and any held before, or none.

        Args:
            outcome: what became of the item.
            row: its finished row.
            was_accepted: says whether the item's last answer before this run was an acceptance; asked if needed only.
        """
        doubt = anomaly_in(outcome, was_accepted)
        if doubt is None or not self.threshold(doubt):
            return [*self.release(), row] if self._clears(outcome) else [row]
        if doubt == self.storm:
            return []
        passed = self.release() if doubt != self._doubt else []
        self._doubt = doubt
        self._held.append(row)
        if len(self._held) >= self.threshold(doubt):
            self.storm = doubt
            self._held.clear()
        return passed

    def threshold(self, doubt: Anomaly) -> int:
        """Give the number of rows that make a storm of one kind of doubt."""
        return self.failures if doubt.is_failure else self.verdicts

    def release(self) -> list[Row]:
        """Give the rows held, and hold none."""
        held, self._held = self._held, []
        return held

    def _clears(self, outcome: Outcome) -> bool:
        """Say whether the service is well by this outcome, as far as the present doubt goes."""
        if self._doubt is None or self._doubt.is_failure:
            return isinstance(outcome, Accepted | Rejected)
        return isinstance(outcome, Accepted)


def anomaly_in(outcome: Outcome, was_accepted: Callable[[], bool]) -> Anomaly | None:
    """Name the doubt about one outcome; None where there is none."""
    match outcome:
        case Failed(reason=Reason.SOURCE_CHANGED | Reason.SOURCE_UNAVAILABLE):
            return None
        case Failed(reason=reason):
            return Anomaly(reason, is_failure=True)
        case Rejected(answer=answer) if was_accepted():
            return Anomaly(answer.response.verdict, is_failure=False)
        case Accepted() | Rejected() | Ineligible():
            return None


def suspicion(storm: Anomaly, rows: int) -> str:
    """Say what happened and what to suspect, in a sentence or two for a person."""
    if storm.is_failure:
        return (
            f"{rows} rows in a row failed alike ({storm.word}): suspect the service or a setting rather than the "
            "files, such as the sidecar's wire name (proofsweep doctor --pair tells)."
        )
    return (
        f"{rows} rows in a row that were accepted before are now {storm.word}: suspect another environment, the "
        "sidecar's wire name or an emptied registry. If it is true, resume with PROOFSWEEP_RETRY__STORM_VERDICTS=0."
    )
