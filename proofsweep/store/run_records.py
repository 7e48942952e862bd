"""A run as the index of runs knows it: its plan, and each leg that has ended. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, NamedTuple

from proofsweep.domain.endings import ending_of
from proofsweep.domain.items import Row
from proofsweep.domain.runs import Plan

# What readers need of a receipt; its parts and digests stay in the receipt alone.
RECEIPT_MEMBERS = ("ended_by", "counts", "why", "quota_reset", "cpu_seconds", "duplicates")


class LegPace(NamedTuple):
    call_seconds: float | None = None  # of all calls of a row together; None if not measured
    upload_seconds: float | None = None  # of these, of its form posts
    let_through: float | None = None  # calls per second between two refusals, at most; None if there were none


@dataclass(frozen=True, slots=True, kw_only=True)
class LegRecord:
    leg: int
    receipt: Mapping[str, object]  # of its receipt, the `RECEIPT_MEMBERS`
    # its rows by outcome, verdict and reason, each with `rows` and an `example`; None if nobody counted.
    groups: Sequence[Row] | None = None
    pace: Sequence[Any] | None = None  # the members of its `LegPace`; None if it was not measured

    @property
    def counts(self) -> Mapping[str, object]:
        """The leg's row of `runs`; empty if its receipt has none."""
        counts = self.receipt.get("counts")
        return counts if isinstance(counts, dict) else {}

    @property
    def epoch(self) -> int:
        """Its epoch: of two legs of different ones, the later one's rows are newer."""
        found = self.counts.get("epoch")
        return found if isinstance(found, int) else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """A run and its ended legs, the oldest first."""

    plan: Plan
    legs: Sequence[LegRecord] = ()

    @property
    def remaining(self) -> int:
        found = self.legs[-1].counts.get("remaining") if self.legs else None
        return found if isinstance(found, int) else self.plan.items

    @property
    def is_over(self) -> bool:
        """Whether nobody needs to go on with it: no row remains, or it was superseded."""
        return not self.remaining or self.is_superseded

    @property
    def is_superseded(self) -> bool:
        endings = (ending_of(leg.receipt.get("ended_by")) for leg in self.legs)
        return any(ending is not None and not ending.goes_on for ending in endings)

    def is_newer_than(self, other: "RunRecord | None") -> bool:
        """Return whether this record knows more: legs only end, they never come back."""
        return other is None or self._knowledge() > other._knowledge()  # noqa: SLF001 - the same class

    def document(self) -> dict[str, object]:
        return {"plan": asdict(self.plan), "legs": [asdict(leg) for leg in self.legs]}

    def clock_readings(self) -> Iterator[tuple[int, datetime]]:
        """Return when it was planned and when its legs ended, each with the epoch in which a clock said so."""
        yield 0, datetime.fromisoformat(self.plan.created_at)
        for leg in self.legs:
            if leg.counts.get("finished_at") is not None:
                yield leg.epoch, datetime.fromisoformat(str(leg.counts["finished_at"]))

    def _knowledge(self) -> tuple[int, int]:
        return len(self.legs), sum(leg.groups is not None for leg in self.legs)


def epoch_at(runs: Iterable[RunRecord], now: datetime) -> int:
    """Return the epoch of a leg that begins now: later than that of each leg which has ended later by its clock.

    So of two legs that were not at work at the same time the later one's rows are newer, whatever the clocks said.
    """
    return max((epoch + (at > now) for run in runs for epoch, at in run.clock_readings()), default=0)
