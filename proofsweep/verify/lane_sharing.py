"""Share a lane with the other processes that use the key, by numbered objects in the store, which a thread reads."""

import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta

from pydantic import TypeAdapter

from proofsweep.client.rate_share import LEASE_SECONDS, LOOK_SECONDS, Lane, LaneMember, LanePriority
from proofsweep.client.scheduler import Dispatcher
from proofsweep.domain.errors import NameTaken, ResultsError
from proofsweep.domain.runs import INGEST, Plan
from proofsweep.store import layout
from proofsweep.store.objects import Store, json_bytes
from proofsweep.store.parts import Results
from proofsweep.verify.history import last_rate
from proofsweep.verify.service import Service

FLOOR_CALLS_PER_SECOND = 1.0  # what a sweep keeps for itself while an ingest pass uses the same key
_RATE_IS_KEPT = timedelta(days=7)
_READER = TypeAdapter(Lane)
_KEPT = 32
_POLL_SECONDS = 0.25
_TRIES = 4
_FIRST_SECONDS, _LAST_SECONDS = 2.0, 5.0


@dataclass(slots=True)
class LaneObject:
    """The lane of one key in a store; used by one thread. `number` is that of the last object seen."""

    store: Store
    folder: str
    number: int = 0
    _seen: Lane = field(default_factory=Lane)

    def latest(self) -> Lane:
        """List the objects and read the last one; an empty lane if there is none, or if it cannot be understood."""
        numbers = sorted(map(_number_of, self.store.names(self.folder)))
        for number in numbers[: -2 * _KEPT]:
            self.store.delete(layout.lane_name(self.folder, number))
        self.number = max(self.number, numbers[-1]) if numbers else 0
        self._seen = self._read(self.number) or Lane()
        return self._seen

    def newer(self) -> Lane:
        """Read the objects that follow the last one seen, one request for each; return the last one."""
        while (lane := self._read(self.number + 1)) is not None:
            self.number, self._seen = self.number + 1, lane
        return self._seen

    def tell(self, lane: Lane) -> bool:
        """Write what follows the last object seen; whether it stands there, and nobody else's does."""
        number, content = self.number + 1, json_bytes(asdict(lane))
        name = layout.lane_name(self.folder, number)
        try:
            self.store.create(name, content)
        except NameTaken:
            return False
        self.number, self._seen = number, lane
        if number > _KEPT:
            self.store.delete(layout.lane_name(self.folder, number - _KEPT))
        return True

    def _read(self, number: int) -> Lane | None:
        content = self.store.read(layout.lane_name(self.folder, number))
        if content is None:
            return None
        with suppress(ValueError):
            return _READER.validate_json(content)
        return Lane()


def _number_of(name: str) -> int:
    digits = name.rpartition("/")[2].removesuffix(".json")
    return int(digits) if digits.isdecimal() else 0


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


def remembered_rate(results: Results, service: Service, processes: int = 1) -> float | None:
    """Return the rate with which a leg begins, or a process's share of it; None if no earlier leg has learned one."""
    since = service.clock() - _RATE_IS_KEPT
    rate = last_rate(results, service.settings.base_url, service.key_fingerprint, since)
    return None if rate is None else rate / processes


def lane_sharing(results: Results, service: Service, plan: Plan) -> LaneSharing:
    folder = layout.lane_folder(service.key_fingerprint, service.settings.base_url)
    return LaneSharing(
        lane=LaneObject(results.store, folder),
        dispatcher=service.dispatcher,
        clock=service.clock,
        priority=LanePriority.INGEST if plan.catalog_kind == INGEST else LanePriority.VERIFY,
        floor_rate=FLOOR_CALLS_PER_SECOND,
        remember_seconds=_RATE_IS_KEPT.total_seconds(),
    )
