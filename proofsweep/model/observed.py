"""The service, its lane and the link to it, as earlier exchanges show them. Pure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedLane:
    """The partner's limit for all calls with one key.

    Attributes:
        rate: calls per second that it lets through; None where it was never reached.
        burst: the most calls that it lets through at once after a pause.
        most_at_once: the most calls in flight; None where no such limit was seen.
        fastest: the most calls per second that went through, over some seconds.
        least_wait_seconds: the shortest wait that a 429 asked for.
    """

    rate: float | None = None
    burst: float = 1.0
    most_at_once: int | None = None
    fastest: float = 0.0
    least_wait_seconds: float = 1.0

    @property
    def is_reached(self) -> bool:
        """Whether the lane has refused calls, so that it is known."""
        return self.rate is not None or self.most_at_once is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedLink:
    """The way of the uploads, in bytes per second.

    Attributes:
        fixed_seconds: what an upload of no bytes takes.
        of_each: what one upload carries; infinite where only the whole link bounds it, or nothing was seen.
        of_all: what all uploads together carry; infinite where the link was never full.
        mean_bytes: of the files with which this was measured.
    """

    fixed_seconds: float = 0.0
    of_each: float = math.inf
    of_all: float = math.inf
    mean_bytes: float = 0.0

    @property
    def is_known(self) -> bool:
        """Whether larger files are known to take longer."""
        return min(self.of_each, self.of_all) < math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedService:
    """What a rehearsal rests on.

    Attributes:
        origin: the leg or the sample, in words.
        rows: how many rows were measured.
        measured_at: when the last of them was answered; None if none was.
        slot_seconds: quantiles of the time of a call for a slot, ascending.
        verify_seconds: those of a verify call.
        trip_seconds: how long a request or an answer is on its way.
        failing: the share of the calls that failed and were made again.
        cpu_seconds: of this program, for each row.
        overhead_seconds: what a leg takes besides its rows.
    """

    origin: str
    rows: int = 0
    measured_at: datetime | None = None
    slot_seconds: Sequence[float] = (0.0,)
    verify_seconds: Sequence[float] = (0.0,)
    trip_seconds: float = 0.0
    failing: float = 0.0
    cpu_seconds: float = 0.0
    overhead_seconds: float = 0.0
    lane: ObservedLane = field(default_factory=ObservedLane)
    link: ObservedLink = field(default_factory=ObservedLink)


def service_of(document: Mapping[str, Any]) -> ObservedService:
    """Read what was observed from its members as JSON has them; TypeError, ValueError or KeyError if that is wrong."""
    at = document["measured_at"]
    parts = {
        "measured_at": None if at is None else datetime.fromisoformat(at).astimezone(UTC),
        "lane": ObservedLane(**document["lane"]),
        "link": ObservedLink(**document["link"]),
    }
    return ObservedService(**{**document, **parts})
