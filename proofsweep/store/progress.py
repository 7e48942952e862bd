"""How far a leg is: what each heartbeat tells, and what every display of a leg shows. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError


@dataclass(frozen=True, slots=True, kw_only=True)
class LegProgress:
    rows: int  # of the leg's partition
    finished_before: int | None = None  # rows that earlier legs have finished; None until that is known
    counts: Mapping[str, int]  # rows that this leg has finished, by outcome
    rate: float | None = None  # rows per second over the last minute; None before there is a second to compare
    calls: int = 0  # keyed calls of this leg
    seconds_left: float | None = None  # by that rate; None if it cannot be estimated
    lane_rate: float | None = None  # calls per second that the service lets through; None until it has throttled
    quota_left: int | None = None  # calls left in the key's quota; None if the service did not say
    waiting: str = ""  # why rows come slowly, or not at all, in one sentence

    @property
    def done(self) -> int:
        return sum(self.counts.values())

    @property
    def finished(self) -> int:
        """How many rows have an outcome, of all legs; of this one, as long as nothing is known of those before."""
        return (self.finished_before or 0) + self.done


_PROGRESS = TypeAdapter(LegProgress)


def together(rows: int, finished_before: int, legs: Sequence[LegProgress]) -> LegProgress:
    """Return the progress of a run by that of its open legs, which work on different partitions.

    What all of them wait for, the run waits for. Of a lane that they share, each knows the whole rate.
    """
    waits = {leg.waiting for leg in legs}
    return LegProgress(
        rows=rows,
        finished_before=finished_before,
        counts=dict(sum((Counter(leg.counts) for leg in legs), Counter())),
        rate=sum(rates) if (rates := [leg.rate for leg in legs if leg.rate is not None]) else None,
        calls=sum(leg.calls for leg in legs),
        seconds_left=max((leg.seconds_left for leg in legs if leg.seconds_left is not None), default=None),
        lane_rate=max((leg.lane_rate for leg in legs if leg.lane_rate is not None), default=None),
        quota_left=min((leg.quota_left for leg in legs if leg.quota_left is not None), default=None),
        waiting=waits.pop() if len(waits) == 1 else "",
    )


def progress_in(document: object) -> LegProgress | None:
    """Read what a heartbeat has; None if it cannot be understood, as that of a later version may be."""
    try:
        return _PROGRESS.validate_python(document)
    except ValidationError:
        return None
