"""What a rehearsal says of tonight. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from proofsweep.model.forecast import Bind
from proofsweep.model.observed import ObservedService


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """One thing that could be more, and the end that it gives.

    Attributes:
        bind: what there is more of.
        amount: calls per second or at once, bytes per second, or workers; None where a bound is taken away.
        rows_left: rows that remain nevertheless.
        helps: whether the end is earlier, or fewer rows remain, by more than the error of a rehearsal.
    """

    bind: Bind
    amount: float | None
    seconds: float
    ends_at: datetime
    rows_left: int
    helps: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """How a leg goes that begins now.

    Attributes:
        seconds: from its begin to its end.
        rows: rows that it finishes; `rows_left` remain.
        calls: calls for its rows, those that are refused included; `refused` are the latter.
        binds: what ends it while rows remain, or limits its speed.
        pace_binds: what limits its speed.
        uses: the share of what the lane, the uplink, the threads and the CPU offer that is used, 0 to 1.
        first_rate: calls per second with which it begins; `is_rate_remembered` if an earlier leg learned it.
        remedies: what more of something would change.
        service: what all this rests on.
        is_lane_assumed: whether a person gave the lane, which was not measured then.
        assumed: what is not known, and was assumed; sentences.
    """

    seconds: float
    ends_at: datetime
    rows: int
    rows_left: int
    calls: int
    refused: int
    binds: Bind
    pace_binds: Bind
    uses: Mapping[Bind, float]
    first_rate: float
    is_rate_remembered: bool
    remedies: Sequence[Remedy]
    service: ObservedService
    is_lane_assumed: bool
    assumed: Sequence[str]
