"""Share the rate limit with the other processes of the key: leases and the pause in the store, which threads read."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict

from pydantic import TypeAdapter

from proofsweep.config.threads import Event, Thread, monotonic
from proofsweep.domain.errors import ResultsError
from proofsweep.domain.runs import INGEST, Plan
from proofsweep.pacing.rate_share import (
    LOOK_SECONDS,
    READ_SECONDS,
    PauseNotice,
    RateLease,
    RateShare,
    SharedPause,
    Weight,
)
from proofsweep.store import layout
from proofsweep.store.objects import Store, json_bytes
from proofsweep.verify.service import Service

_POLL_SECONDS = 0.25
_FIRST_SECONDS, _LAST_SECONDS = 2.0, 5.0
_LEASE, _PAUSE = TypeAdapter(RateLease), TypeAdapter(PauseNotice)


class RateLeases:
    """The lease of this process, beside those of the others that call the service with the same key.

    A thread looks at the others' leases each second. Another one reads the pause.
    """

    def __init__(self, store: Store, service: Service, plan: Plan | None = None, rate: float | None = None) -> None:
        """Take the calls per second that an earlier run learned for all processes together, if one did."""
        lane = service.key_fingerprint, service.settings.base_url
        self._store = store
        self._service = service
        self._scheduler = service.scheduler
        self._folder = layout.rate_leases_folder(*lane)
        self._pause_name = layout.rate_pause_name(*lane)
        weight = Weight.VERIFY
        if plan is not None and plan.catalog_kind == INGEST:
            weight = Weight.INGEST
        self._share = RateShare(token=secrets.token_hex(6), weight=weight, known=rate)
        self._pause = SharedPause(token=self._share.token)

    @contextmanager
    def shared(self) -> Iterator[None]:
        over = Event()
        has_looked = Event()
        has_read = Event()
        # The thread of the pause does nothing else. So a pause binds all within half a second, also where a request to
        # the store takes a tenth of one.
        threads = [
            Thread(target=self._keep_lease, args=(over, has_looked), name="rate-share", daemon=True),
            Thread(target=self._keep_pause, args=(over, has_read), name="rate-pause", daemon=True),
        ]
        for thread in threads:
            thread.start()
        # The first call must not go before the others' leases and a pause are known; without a store, it goes anyway.
        late_at = monotonic() + _FIRST_SECONDS
        for is_known in (has_looked, has_read):
            is_known.wait(max(0.0, late_at - monotonic()))
        try:
            yield
        finally:
            over.set()
            self._scheduler.throttled.set()
            late_at = monotonic() + _LAST_SECONDS  # a store that is away must not hold the end up
            for thread in threads:
                thread.join(max(0.0, late_at - monotonic()))

    def look(self) -> None:
        """Exchange news with the others now; without a store each finds its part alone."""
        with suppress(ResultsError):
            others = self.read()
            report = self._scheduler.report()
            share = self._share.look(others, report, self._scheduler.clock())
            self._scheduler.apply_share(share)
            if share.lease is not None:
                self._store.replace(self._name, json_bytes(asdict(share.lease)))
            for token in self._share.forgotten(self._scheduler.clock()):
                self._store.delete(f"{self._folder}/{token}.json")

    def read(self) -> dict[str, RateLease]:
        """Return the leases of the other processes by their tokens; what cannot be understood is of another release."""
        leases = dict[str, RateLease]()
        for name in self._store.names(self._folder):
            token = name.rpartition("/")[2].removesuffix(".json")
            if token == self._share.token:
                continue
            content = self._store.read(name) or b""
            with suppress(ValueError):
                leases[token] = _LEASE.validate_json(content)
        return leases

    def write_pause(self) -> None:
        """Write the pause that this process was told, unless all know of one that ends later."""
        now = self._scheduler.clock()
        told = self._pause.news(self._scheduler.pause_ends_at, now, self._service_time())
        if told is not None:
            with suppress(ResultsError):  # then it is written a moment later
                self._store.replace(self._pause_name, json_bytes(asdict(told)))
                self._pause.wrote(told, now)

    def heed_pause(self) -> None:
        """Keep to a pause that another process was told."""
        told: PauseNotice | None = None
        try:
            content = self._store.read(self._pause_name)
        except ResultsError:
            return
        with suppress(ValueError):
            told = _PAUSE.validate_json(content or b"")
        pause_seconds = self._pause.heed(told, self._scheduler.clock(), self._service_time())
        # Processes that begin again together would all be refused: each begins in its turn.
        if pause_seconds:
            self._scheduler.pause(pause_seconds + self._share.turn_seconds)

    def heed(self) -> None:
        """Keep to a pause that stands there, and take no part: for a few calls."""
        with suppress(ResultsError):
            if self._store.read(self._pause_name) is not None:
                self._service.asked_clock()  # the pause may be of last night
                self.heed_pause()

    def _service_time(self) -> float | None:
        clock = self._service.clock
        return clock().timestamp() if clock.is_known else None

    def _keep_lease(self, over: Event, has_looked: Event) -> None:
        refused, looked_at = 0, -LOOK_SECONDS
        while not over.is_set():
            # A call that was refused is news for the others, which they are told at once.
            is_due = monotonic() - looked_at >= LOOK_SECONDS
            if is_due or self._scheduler.refused != refused:
                refused, looked_at = self._scheduler.refused, monotonic()
                self.look()
                has_looked.set()
            over.wait(_POLL_SECONDS)
        with suppress(ResultsError):
            self._store.delete(self._name)

    def _keep_pause(self, over: Event, has_read: Event) -> None:
        while not over.is_set():
            self.write_pause()
            self.heed_pause()
            has_read.set()
            if self._scheduler.throttled.wait(READ_SECONDS):
                self._scheduler.throttled.clear()
        self.write_pause()
        # A pause that lasts stays for a process that begins before its end. Another process may have been told one
        # since the last look: whoever deletes that keeps it from all others.
        self.heed_pause()
        if self._pause.is_left_over(self._scheduler.clock()):
            with suppress(ResultsError):
                self._store.delete(self._pause_name)

    @property
    def _name(self) -> str:
        return f"{self._folder}/{self._share.token}.json"
