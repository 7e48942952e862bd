"""Share a lane with the other processes that use the key: a thread beside the work, which never waits for it.

What is shared is advice. While the store is slow or away, the last part holds for some seconds; then the process finds
the lane alone, as without a store.
"""

import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime

from proofsweep.client.lane import Lane, LanePriority
from proofsweep.client.lane_member import LEASE_SECONDS, LOOK_SECONDS, LaneMember
from proofsweep.client.scheduler import Dispatcher
from proofsweep.domain.errors import ResultsError
from proofsweep.verify.lanes import LaneObject

_POLL_SECONDS = 0.25
_TRIES = 4
_FIRST_SECONDS, _LAST_SECONDS = 2.0, 5.0


@dataclass(slots=True, kw_only=True)
class LaneSharing:
    lane: LaneObject
    dispatcher: Dispatcher
    clock: Callable[[], datetime]
    priority: LanePriority
    floor_rate: float
    remember_seconds: float  # how long a rate that was learned is a first guess
    _member: LaneMember = field(init=False)
    _listed_at: float | None = None
    _looked_at: float = 0.0
    _refused: int = 0
    _has_met: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._member = LaneMember(token=secrets.token_hex(6), priority=self.priority, floor_rate=self.floor_rate)

    @contextmanager
    def shared(self) -> Iterator[None]:
        over = threading.Event()
        thread = threading.Thread(target=self._keep, args=(over,), name="lane", daemon=True)
        thread.start()
        self._has_met.wait(_FIRST_SECONDS)
        try:
            yield
        finally:
            over.set()
            thread.join(_LAST_SECONDS)  # a store that is away must not hold the end up

    def look(self) -> None:
        """Exchange news with the others now, if the store can be used."""
        with suppress(ResultsError), self._lock:
            self._exchange()
        self._has_met.set()

    def _keep(self, over: threading.Event) -> None:
        self.look()
        while not over.wait(_POLL_SECONDS):
            is_news = self.dispatcher.refused != self._refused
            if is_news or time.monotonic() - self._looked_at >= LOOK_SECONDS:
                self.look()
        with suppress(ResultsError), self._lock:
            self._leave()

    def _exchange(self) -> None:
        now = self._looked_at = self.dispatcher.clock()
        report = self.dispatcher.lane_report()
        self._refused = report.refused
        self._member.note(report, now)
        is_first, lane = self._listed_at is None, self._read(now)
        is_young = abs(self.clock().timestamp() - lane.learned_at) <= self.remember_seconds
        if is_first and lane.bucket is not None and is_young:
            self.dispatcher.remember(lane.bucket.rate)
        for _ in range(_TRIES):
            met = self._member.meet(lane, now, epoch_seconds=self.clock().timestamp())
            if met.news is None:
                break
            if self.lane.tell(met.news):
                self._member.told(met.news, now)
                lane = met.news
                break
            lane = self.lane.latest()
        self.dispatcher.meet(met.share, met.pause_seconds)

    def _read(self, now: float) -> Lane:
        """Read what is new; and list the objects with each lease, so that a process that slept finds the last one."""
        if self._listed_at is not None and now - self._listed_at < LEASE_SECONDS:
            return self.lane.newer()
        self._listed_at = now
        return self.lane.latest()

    def _leave(self) -> None:
        self._member.note(self.dispatcher.lane_report(), self.dispatcher.clock())
        for _ in range(_TRIES):
            if self.lane.tell(self._member.leave(self.lane.latest())):
                break
