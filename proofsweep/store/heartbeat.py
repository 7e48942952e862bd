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
    # Calls per second that the service lets through, as this run or an earlier one learned.
    lane_rate: float | None = None
    quota_left: int | None = None  # calls left in the key's quota; None if the service did not say
    waiting: str = ""  # why rows come slowly, or not at all, in one sentence

    @property
    def done(self) -> int:
        return sum(self.counts.values())

    @property
    def finished(self) -> int:
        """How many rows have an outcome; those of earlier legs count as soon as they are known."""
        return (self.finished_before or 0) + self.done


_PROGRESS = TypeAdapter(LegProgress)


def together(rows: int, finished_before: int, legs: Sequence[LegProgress]) -> LegProgress:
    """Return the progress of a run by that of its open legs, which work on different partitions.

    The run waits if all of them wait for the same. The legs share one lane, and each knows its whole rate.
    """
    counts = Counter[str]()
    waits = set[str]()
    calls = 0
    for leg in legs:
        counts += Counter(leg.counts)
        waits.add(leg.waiting)
        calls += leg.calls
    rates = [leg.rate for leg in legs if leg.rate is not None]
    lane_rates = (leg.lane_rate for leg in legs if leg.lane_rate is not None)
    times_left = (leg.seconds_left for leg in legs if leg.seconds_left is not None)
    quotas_left = (leg.quota_left for leg in legs if leg.quota_left is not None)
    return LegProgress(
        rows=rows,
        finished_before=finished_before,
        counts=dict(counts),
        rate=sum(rates) if rates else None,
        calls=calls,
        seconds_left=max(times_left, default=None),
        lane_rate=max(lane_rates, default=None),
        quota_left=min(quotas_left, default=None),
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
        """Whether it seems to work, for a reader who looks once."""
        # The clock of another machine may differ: without the slack, a leg that works there would be shown as dead.
        stale_seconds = STALE_SECONDS
        if not self.holder.is_here:
            stale_seconds += _CLOCKS_DIFFER_SECONDS
        return not self.is_gone and self.age_seconds <= stale_seconds

    def document(self) -> dict[str, object]:
        since = self.holder.taken_at.isoformat(timespec="seconds")
        beaten_at = self.beaten_at.isoformat(timespec="seconds")
        return {
            "run_id": self.run_id,
            "leg": self.leg,
            "host": self.holder.host,
            "pid": self.holder.pid,
            "since": since,
            "sign_of_life_at": beaten_at,
            "sign_of_life_age_seconds": round(self.age_seconds, 1),
            "is_alive": self.is_alive,
            "progress": _cells(self.progress),
        }


def _cells(progress: LegProgress | None) -> dict[str, object] | None:
    return None if progress is None else asdict(progress)


@dataclass(frozen=True, slots=True)
class Signs:
    """The signs of life of one holder, in the folder of its leg, or of its pass over a watched folder."""

    store: Store
    name: str  # of the run, or of what is watched
    number: int  # of the leg, or of the pass
    holder: Holder
    clock: Callable[[], datetime]

    def beat(self, progress: LegProgress | None = None) -> None:
        """Write the heartbeat: this process is alive now, and its work is so far."""
        sign = {"at": self.clock().isoformat(), "progress": _cells(progress)}
        name = layout.heartbeat_name(self.name, self.number)
        self.store.replace(name, json_bytes(sign))

    def receipt(self) -> dict[str, object] | None:
        """Read how it ended; None while it lasts. ResultsError if that is damaged."""
        return read_document(self.store, layout.receipt_name(self.name, self.number), JSON_OBJECT)

    def shown(self) -> OpenLeg | None:
        """Read how far it was at its last heartbeat; None if it has ended."""
        if self.receipt() is not None:
            return None
        beaten_at = self.holder.taken_at
        progress = None
        # A power cut may leave a heartbeat empty, and that of a later version may have another progress.
        with suppress(ValueError, KeyError, TypeError):
            sign = json.loads(self._heartbeat() or b"")
            beaten_at = datetime.fromisoformat(sign["at"])
            progress = _PROGRESS.validate_python(sign["progress"])
        age = self.clock() - beaten_at
        return OpenLeg(
            run_id=self.name,
            leg=self.number,
            holder=self.holder,
            beaten_at=beaten_at,
            age_seconds=abs(age.total_seconds()),  # one from the future shows a wrong clock
            is_gone=self.holder.is_gone,
            progress=progress,
        )

    def are_alive(self, rest: Callable[[float], object]) -> bool:
        """Whether its process works; wait for its next heartbeat, up to 30 s, if nothing else can tell."""
        shown = self.shown()
        if shown is None or shown.is_gone:
            return False
        if self.holder.is_here and shown.is_alive:
            return True
        # A process that was just killed on another machine has a fresh heartbeat too, and clocks may jump. Only another
        # heartbeat shows that it lives: else two processes would work on one leg, or none.
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
