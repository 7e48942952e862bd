"""Share the rate limit with the other processes of the key: a lease of each in the store, which a thread reads."""

import math
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace

from pydantic import TypeAdapter

from proofsweep.client.rate_share import LOOK_SECONDS, RateLease, RateShare, Share, Weight
from proofsweep.config.threads import Event, Thread, monotonic
from proofsweep.domain.errors import ResultsError
from proofsweep.domain.runs import INGEST, Plan
from proofsweep.store import layout
from proofsweep.store.objects import Store, json_bytes
from proofsweep.verify.service import Service

_POLL_SECONDS = 0.25
_FIRST_SECONDS, _LAST_SECONDS = 2.0, 5.0
_FORGOTTEN_SECONDS = 86_400.0  # a lease that is older, by the wall clocks of both machines, is deleted
_MOST_PAUSE_SECONDS = 120.0  # what is told is heeded for no longer: then a call of one's own shows what holds
_LEASE = TypeAdapter(RateLease)


class RateLeases:
    """The lease of this process, beside those of the others that call the service with the same key."""

    def __init__(self, store: Store, service: Service, plan: Plan | None = None, rate: float | None = None) -> None:
        """Take the calls per second that an earlier run learned for all processes together, if one did."""
        self._store = store
        self._folder = layout.rate_leases_folder(service.key_fingerprint, service.settings.base_url)
        self._dispatcher, self._clock = service.dispatcher, service.clock
        weight = Weight.INGEST if plan is not None and plan.catalog_kind == INGEST else Weight.VERIFY
        self._share = RateShare(token=secrets.token_hex(6), weight=weight, known=rate)
        self._has_looked = Event()

    @contextmanager
    def shared(self) -> Iterator[None]:
        over = Event()
        thread = Thread(target=self._keep, args=(over,), name="rate-share", daemon=True)
        thread.start()
        self._has_looked.wait(_FIRST_SECONDS)
        try:
            yield
        finally:
            over.set()
            thread.join(_LAST_SECONDS)  # a store that is away must not hold the end up

    def look(self) -> None:
        """Exchange news with the others now; without a store each finds its part alone."""
        with suppress(ResultsError):
            share = self._share.look(self.read(), self._dispatcher.report(), self._dispatcher.clock())
            self._dispatcher.take(share)
            if share.lease is not None:
                self._write(share.lease)

    def heed(self) -> None:
        """Keep to a pause that another process was told, and take no part: for a few calls."""
        with suppress(ResultsError):
            pause_seconds = max((lease.pause_seconds for lease in self.read().values()), default=0.0)
            self._dispatcher.take(Share(part=1.0, rate=None, pause_seconds=pause_seconds, lease=None))

    def read(self) -> dict[str, RateLease]:
        """Return the leases of the other processes by their tokens, each with what is left of its pause.

        What cannot be understood is of another release.
        """
        leases, now = dict[str, RateLease](), self._clock().timestamp()
        for name in self._store.names(self._folder):
            token = name.rpartition("/")[2].removesuffix(".json")
            content = None if token == self._share.token else self._store.read(name)
            with suppress(ValueError):
                lease = _LEASE.validate_json(content or b"")
                age_seconds = now - lease.epoch_seconds
                if abs(age_seconds) > _FORGOTTEN_SECONDS:
                    self._store.delete(name)
                else:
                    left_seconds = max(0.0, lease.pause_seconds - max(0.0, age_seconds))
                    leases[token] = replace(lease, pause_seconds=min(_MOST_PAUSE_SECONDS, left_seconds))
        return leases

    def _keep(self, over: Event) -> None:
        refused, looked_at = 0, -math.inf
        while not over.is_set():
            if self._dispatcher.refused != refused or monotonic() - looked_at >= LOOK_SECONDS:
                refused, looked_at = self._dispatcher.refused, monotonic()
                self.look()
                self._has_looked.set()
            over.wait(_POLL_SECONDS)
        with suppress(ResultsError):
            self._leave()

    def _leave(self) -> None:
        """Delete the lease; one without weight keeps a pause that lasts, for a process that begins before its end."""
        pause_seconds = self._dispatcher.report().pause_seconds
        if pause_seconds > LOOK_SECONDS:
            self._write(RateLease(weight=0.0, pause_seconds=pause_seconds))
        else:
            self._store.delete(self._name)

    def _write(self, lease: RateLease) -> None:
        told = replace(lease, epoch_seconds=self._clock().timestamp())
        self._store.replace(self._name, json_bytes(asdict(told)))

    @property
    def _name(self) -> str:
        return f"{self._folder}/{self._share.token}.json"
