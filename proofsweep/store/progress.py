"""How far a leg is: what each heartbeat tells, and what every display of a leg shows. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from proofsweep.domain.text import counted

LEAST_PAUSE_SECONDS = 5.0  # a shorter pause is the pace of a lane, and nothing to wait for
QUIET_SECONDS = 10.0  # without a finished row for so long, a person asks what the leg does


_Number = TypeVar("_Number", int, float)


class WaitsFor(StrEnum):
    """Why rows come slowly, or not at all, the first that applies."""

    SETTLE = "settle"
    STOP = "stop"
    STORE = "store"
    OUTAGE = "outage"
    START = "start"
    PAUSE = "pause"
    UPLOADS = "uploads"
    NEW_FILES = "new_files"


_WORDS = {
    WaitsFor.SETTLE: "the last rows are being written",
    WaitsFor.STOP: "stopping: {in_flight} in flight",
    WaitsFor.STORE: "the results store cannot be written",
    WaitsFor.OUTAGE: "a check came out wrong, so only checks go: the service or the files seem to be away",
    WaitsFor.START: "it begins: earlier legs are settled, and the negative control is made",
    WaitsFor.PAUSE: "the service asked for a pause{until}",
    WaitsFor.UPLOADS: "uploading {uploads}",
    WaitsFor.NEW_FILES: "new files of a watched folder go first",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LegProgress:
    rows: int  # of the leg's partition
    finished_before: int | None = None  # rows that earlier legs have finished; None until that is known
    counts: Mapping[str, int]  # rows that this leg has finished, by outcome
    rate: float | None = None  # rows per second over the last minute; None before there is a second to compare
    calls: int = 0  # keyed calls of this leg
    call_rate: float | None = None  # calls per second over the last minute
    seconds_left: float | None = None  # by the rate of the last ten minutes; None if it cannot be estimated
    lane_rate: float | None = None  # calls per second that the service lets through; None until it has throttled
    most_at_once: int | None = None  # calls at once that it lets through; None where no such limit was seen
    quota_left: int | None = None  # calls left in the key's quota; None if the service did not say
    sent_bytes: int = 0  # of the files that the service answered
    in_flight: int = 0  # files that have begun and not ended
    uploads: int = 0  # files whose bytes are on their way
    paused_until: datetime | None = None  # when the pause ends that the service asked for
    stops_because: str | None = None  # why it ends early, in one sentence; None if it does not
    waits_for: WaitsFor | None = None
    waits_since: datetime | None = None

    @property
    def done(self) -> int:
        return sum(self.counts.values())

    @property
    def finished(self) -> int:
        """How many rows have an outcome, of all legs; of this one, as long as nothing is known of those before."""
        return (self.finished_before or 0) + self.done

    @property
    def waiting(self) -> str:
        words = "" if self.waits_for is None else _WORDS[self.waits_for]
        until = "" if self.paused_until is None else f" until {self.paused_until:%H:%M:%S} UTC"
        return words.format(
            in_flight=counted(self.in_flight, "file"), uploads=counted(self.uploads, "file"), until=until
        )

    @property
    def lane(self) -> str:
        if self.most_at_once is not None:
            return f"at most {self.most_at_once:,} calls at once"
        return "" if self.lane_rate is None else f"lane {self.lane_rate:,.1f} calls/s"

    def document(self) -> dict[str, object]:
        """Return it for JSON: instants as ISO text in UTC, and what it waits for in words too."""
        facts = asdict(self)
        times = {name: _text(facts[name]) for name in ("paused_until", "waits_since")}
        named = ("rate", "call_rate", "seconds_left", "lane_rate")
        numbers = {name: round(facts[name], 2) for name in named if facts[name] is not None}
        return facts | times | numbers | {"counts": dict(self.counts), "waiting": self.waiting}


_PROGRESS = TypeAdapter(LegProgress)


def together(rows: int, finished_before: int, legs: Sequence[LegProgress]) -> LegProgress:
    """Return the progress of a run by that of its open legs, which work on different partitions.

    What all of them wait for, the run waits for. Of a lane that they share, each knows the whole rate.
    """
    waits = {leg.waits_for for leg in legs}
    return LegProgress(
        rows=rows,
        finished_before=finished_before,
        counts=sum((Counter(leg.counts) for leg in legs), Counter()),
        rate=_sum(leg.rate for leg in legs),
        calls=sum(leg.calls for leg in legs),
        call_rate=_sum(leg.call_rate for leg in legs),
        seconds_left=max((leg.seconds_left for leg in legs if leg.seconds_left is not None), default=None),
        lane_rate=max((leg.lane_rate for leg in legs if leg.lane_rate is not None), default=None),
        most_at_once=_sum(leg.most_at_once for leg in legs),
        quota_left=min((leg.quota_left for leg in legs if leg.quota_left is not None), default=None),
        sent_bytes=sum(leg.sent_bytes for leg in legs),
        in_flight=sum(leg.in_flight for leg in legs),
        uploads=sum(leg.uploads for leg in legs),
        paused_until=min((leg.paused_until for leg in legs if leg.paused_until is not None), default=None),
        stops_because=next((leg.stops_because for leg in legs if leg.stops_because is not None), None),
        waits_for=waits.pop() if len(waits) == 1 else None,
        waits_since=max((leg.waits_since for leg in legs if leg.waits_since is not None), default=None),
    )


def _sum(counts: Iterable[_Number | None]) -> _Number | None:
    known = [count for count in counts if count is not None]
    return sum(known[1:], known[0]) if known else None


def progress_in(document: object) -> LegProgress | None:
    """Read what `document` wrote; None if it cannot be understood, as that of a later version may be."""
    try:
        return _PROGRESS.validate_python(document)
    except ValidationError:
        return None


def _text(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat(timespec="seconds")
