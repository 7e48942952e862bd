"""Signs of life: whether the process that holds something still works on it, and how far it is.

`heartbeat.json` says that it is alive, `receipt.json` that its work is over. Two signs show that a holder is dead: it
writes no heartbeat for 30 s of the reader's own clock, or its process is gone from this machine.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime

from pydantic import TypeAdapter

from proofsweep.store import layout
from proofsweep.store.holder import Holder
from proofsweep.store.objects import JSON_OBJECT, Store, json_bytes, read_document

HEARTBEAT_SECONDS = 10  # time between two heartbeats
STALE_SECONDS = 30  # age of the last heartbeat from which a holder counts as dead: two in a row may be late
_CLOCKS_DIFFER_SECONDS = 60  # a difference of two machines' clocks that nobody need have noticed


@dataclass(frozen=True, slots=True, kw_only=True)
class LegProgress:
    """How far a leg is: what each heartbeat tells, and what every display of a leg shows."""

    rows: int  # of the leg's partition
    finished_before: int | None = None  # rows that earlier legs have finished; None until that is known
    counts: Mapping[str, int]  # rows that this leg has finished, by outcome
    rate: float | None = None  # rows per second over the last minute; None before there is a second to compare
    calls: int = 0  # keyed calls of this leg
    seconds_left: float | None = None  # by that rate; None if it cannot be estimated
    lane_rate: float | None = (
        None  # calls per second that the service lets through, as this run or an earlier one learned
    )
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


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenLeg:
    """A leg without a receipt, as its last heartbeat shows it: a process works on it, or was killed."""

    run_id: str
    leg: int
    holder: Holder
    beaten_at: datetime
    age_seconds: float  # of its last sign of life; two machines' clocks may be compared for it
    is_gone: bool = False  # whether its process is known to have ended; only its own machine can tell
    progress: LegProgress | None = None  # how far it was then; None before its first heartbeat

    @property
    def is_alive(self) -> bool:
        """Whether it seems to work, for who looks once: the clock of another machine may be another."""
        slack = 0 if self.holder.is_here else _CLOCKS_DIFFER_SECONDS
        return not self.is_gone and self.age_seconds <= STALE_SECONDS + slack

    def document(self) -> dict[str, object]:
        return {
            "run_id": self.run_id,
            "leg": self.leg,
            "host": self.holder.host,
            "pid": self.holder.pid,
            "since": self.holder.taken_at.isoformat(timespec="seconds"),
            "sign_of_life_at": self.beaten_at.isoformat(timespec="seconds"),
            "sign_of_life_age_seconds": round(self.age_seconds, 1),
            "is_alive": self.is_alive,
            "progress": None if self.progress is None else asdict(self.progress),
        }


@dataclass(frozen=True, slots=True)
class Signs:
    """The signs of life of one holder, in the folder of its leg, or of its pass over a watched folder."""

    store: Store
    name: str  # of the run, or of what is watched
    number: int  # of the leg, or of the pass
    holder: Holder
    clock: Callable[[], datetime]

    def beat(self, progress: LegProgress | None = None) -> None:
        """Write the heartbeat: this process is alive now, and so far with its work."""
        sign = {"at": self.clock().isoformat(), "progress": None if progress is None else asdict(progress)}
        self.store.replace(layout.heartbeat_name(self.name, self.number), json_bytes(sign))

    def receipt(self) -> dict[str, object] | None:
        """Read how it ended; None while it lasts. ResultsError if that is damaged."""
        return read_document(self.store, layout.receipt_name(self.name, self.number), JSON_OBJECT)

    def shown(self) -> OpenLeg | None:
        """Read how far it was at its last heartbeat; None if it has ended."""
        if self.receipt() is not None:
            return None
        beaten_at, progress = self.holder.taken_at, None
        with suppress(ValueError, KeyError, TypeError):  # a power cut may leave a heartbeat empty
            sign = json.loads(self._heartbeat() or b"")
            beaten_at = datetime.fromisoformat(sign["at"])
            progress = _PROGRESS.validate_python(sign["progress"])  # that of a later version may be another
        return OpenLeg(
            run_id=self.name,
            leg=self.number,
            holder=self.holder,
            beaten_at=beaten_at,
            age_seconds=abs((self.clock() - beaten_at).total_seconds()),  # one from the future shows a wrong clock
            is_gone=self.holder.is_gone,
            progress=progress,
        )

    def are_alive(self, rest: Callable[[float], object]) -> bool:
        """Whether its process works; wait for its next heartbeat, up to 30 s, if nothing else can tell.

        Of a process that exists on this machine a fresh heartbeat is enough. One that was just killed elsewhere has a
        fresh heartbeat too, and clocks may jump, so that only another heartbeat shows a live one.
        """
        shown = self.shown()
        if shown is None or shown.is_gone:
            return False
        if self.holder.is_here and shown.is_alive:
            return True
        before = self._heartbeat()
        for _ in range(STALE_SECONDS + 1):
            if self.receipt() is not None:
                return False
            rest(1.0)
            if self._heartbeat() != before:
                return self.receipt() is None
        return False

    def _heartbeat(self) -> bytes | None:
        return self.store.read(layout.heartbeat_name(self.name, self.number))
