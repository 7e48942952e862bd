"""One engine per process and settings: everything that is shared between all that is done with one service."""

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from proofsweep import __version__
from proofsweep.client.call_queue import CallQueue, ServiceHealth
from proofsweep.client.client import Partner
from proofsweep.client.in_flight import ConcurrencyLimit
from proofsweep.client.keys import CurrentKey, KeySource, fingerprint
from proofsweep.client.pacer import Pacer
from proofsweep.client.scheduler import Dispatcher, LaneStatus
from proofsweep.client.session import ClientContext, Session
from proofsweep.client.stop import StopSwitch
from proofsweep.client.transport import Transport
from proofsweep.config.load import Settings
from proofsweep.config.logs import Event, log
from proofsweep.domain.errors import ConfigError, ResultsError, RunMustStop
from proofsweep.domain.exchanges import Exchange
from proofsweep.domain.items import WorkItem
from proofsweep.domain.outcomes import Finished
from proofsweep.domain.text import printable
from proofsweep.sources.files import Files
from proofsweep.sources.preflight import SizeLimits
from proofsweep.store.progress import LegProgress
from proofsweep.verify.check_file import answered_file, located_item
from proofsweep.verify.item import VerifyContext
from proofsweep.verify.service import (
    ServiceStatus,
    asked_or_explained,
    await_service,
    examine_service,
    refuse_without_quota,
)
from proofsweep.verify.threads import Workers, most_open_files, workers_that_fit
from proofsweep.wiring.key_sources import ReadBlock, key_source, remember_key

if TYPE_CHECKING:
    from proofsweep.verify.session import LegContext


@dataclass(slots=True, kw_only=True)
class Engine:
    """What one process shares between all it does with one service."""

    settings: Settings
    partner: Partner
    dispatcher: Dispatcher
    transport: Transport
    key: CurrentKey
    stop: StopSwitch
    limits: SizeLimits
    files: Files
    workers: Workers
    unattributed: list[Exchange] = field(default_factory=list)  # belong to no row, and are not written down yet
    leg: "LegContext | None" = None  # that this process holds and works on
    _service: ServiceStatus | None = None

    def service(self) -> ServiceStatus:
        """Examine the service, once for this engine; ConfigError or RunMustStop if it cannot be asked."""
        return self._service or self._kept(examine_service(self.partner))

    def _kept(self, service: ServiceStatus) -> ServiceStatus:
        """Keep what the service has said, and, for other stores, that this key is the service's own."""
        self._service = service
        remember_key(self.key_fingerprint, self.settings.service.base_url)
        return service

    def usable_service(self, reserve: int = 0) -> ServiceStatus:
        """Examine the service; ConfigError or RunMustStop if it cannot be worked with, or only the reserve is left."""
        refuse_without_quota(self.service(), reserve, utc_now())
        return self.service()

    def awaited_service(self, reserve: int = 0) -> ServiceStatus:
        """Do the same for a run, which waits while the service is down for at most `breaker_seconds`."""
        if self._service is None:
            self._kept(await_service(self.partner, self.settings.retry.breaker_seconds))
        return self.usable_service(reserve)

    def abort(self) -> None:
        """End what is in flight, once the leg was asked to stop; unfinished rows remain."""
        self.stop.abort()
        self.transport.abort()

    def close(self) -> None:
        self.workers.shutdown(wait=True, cancel_futures=True)
        self.transport.close()

    @property
    def key_fingerprint(self) -> str:
        return fingerprint(self.key.current)


_Answer = TypeVar("_Answer")
_lock = threading.RLock()
_engines: dict[str, Engine] = {}
_stopped: list[Engine] = []


def engine_for(settings: Settings, read_block: ReadBlock | None = None) -> Engine:
    """Return this process's engine, anew after a stop; ConfigError or ResultsError if the key cannot be used."""
    name = settings.model_dump_json()
    with _lock:
        if name in _engines and _engines[name].stop.reason is not None:
            _stopped.append(_engines.pop(name))
        if name not in _engines:
            _engines[name] = build_engine(settings, read_block)
        return _engines[name]


def close_engines() -> None:
    """Close every engine that this process still holds, when a leg or a command is over."""
    with _lock:
        for engine in (*_engines.values(), *_stopped):
            engine.close()
        _engines.clear()
        _stopped.clear()


def active_leg() -> "LegContext | None":
    """Return the leg that this process holds and works on, for a display beside the work; it waits for no lock."""
    return next((engine.leg for engine in list(_engines.values()) if engine.leg is not None), None)


def leg_progress() -> LegProgress | None:
    leg = active_leg()
    return None if leg is None else leg.progress


def checked_file(settings: Settings, read_block: ReadBlock, audio: str, sidecar: str | None) -> Finished:
    """Verify one file or pair now; ConfigError, ResultsError or RunMustStop if no answer can be had."""
    engine = engine_for(settings, read_block)
    return answered_file(
        audio,
        sidecar,
        VerifyContext(partner=engine.partner, limits=engine.limits, files=engine.files, clock=utc_now),
        engine.stop,
        engine.usable_service,
    )


def service_or_trouble(
    settings: Settings, read_block: ReadBlock
) -> tuple[ServiceStatus, ConfigError | ResultsError | RunMustStop | None]:
    """Return what the service says of the quota, or nothing and why: a plan needs no quota."""
    try:
        return engine_for(settings, read_block).service(), None
    except (ConfigError, ResultsError, RunMustStop) as error:
        return ServiceStatus(), error


def asked(
    settings: Settings, read_block: ReadBlock, ask: Callable[[Partner], _Answer]
) -> tuple[_Answer, Exchange, str]:
    seen: list[Exchange] = []
    partner = engine_for(settings, read_block).partner.in_new_session(seen.append)
    return asked_or_explained(partner, ask), seen[-1], partner.base_url


def known_good_for(settings: Settings) -> list[WorkItem]:
    """Return the files and pairs that the service accepts; CatalogError or ConfigError if one cannot be sent."""
    limits, files = limits_for(settings), Files()
    items = [located_item(audio, sidecar, limits, files) for audio, sidecar in settings.service.known_good]
    for item in items:
        if item.ineligible is not None:
            where = f"{item.audio}{'' if item.sidecar is None else f' with {item.sidecar}'}"
            raise ConfigError(f"service.known_good: {printable(where)} cannot be sent. {item.ineligible.detail}")
    return items


def limits_for(settings: Settings) -> SizeLimits:
    return SizeLimits(is_sidecar_field_known=settings.service.sidecar_field is not None)


utc_now = partial(datetime.now, UTC)
"""Returns the time; the one wall clock that everything else is given."""


def build_engine(settings: Settings, read_block: ReadBlock | None, *, key: KeySource | None = None) -> Engine:
    """Make an engine that nothing else shares; `key` is used instead of the one of the settings."""
    stop = StopSwitch()
    unattributed: list[Exchange] = []
    transport = Transport(settings.timeouts, user_agent=f"proofsweep/{__version__}")
    most = workers_that_fit(settings.pace.workers, most_open_files())
    workers = Workers(most, release=transport.close_thread_connections)
    dispatcher = _dispatcher(settings, stop, workers)
    current_key = CurrentKey(key or key_source(settings, read_block))
    context = ClientContext(
        service=settings.service,
        transport=transport,
        dispatcher=dispatcher,
        key=current_key,
        record_unattributed=unattributed.append,
    )
    return Engine(
        settings=settings,
        partner=Partner(Session(context, unattributed.append, settings.retry)),
        dispatcher=dispatcher,
        transport=transport,
        key=current_key,
        stop=stop,
        limits=limits_for(settings),
        files=Files(),
        workers=workers,
        unattributed=unattributed,
    )


def _dispatcher(settings: Settings, stop: StopSwitch, workers: Workers) -> Dispatcher:
    pace = settings.pace
    return Dispatcher(
        CallQueue(Pacer(first_rate=pace.first_rate), ConcurrencyLimit()),
        ServiceHealth(longest_pause_seconds=pace.longest_pause_seconds),
        stop,
        report=partial(_log_lane, workers),
        make_room=workers.make_room,
    )


def _log_lane(workers: Workers, lane: LaneStatus) -> None:
    log(
        Event.LANE_LEARNED,
        rate=lane.rate,
        most_at_once=lane.most,
        threads=workers.threads,
        why=lane.rate_change,
        outage=lane.is_outage,
    )


def say_if_fewer(wanted: int, workers: int) -> None:
    """Say in the log and on stderr that fewer workers work than are set; a command mutes the log."""
    if workers < wanted:
        log(Event.WORKERS_LOWERED, pace_workers=wanted, workers=workers)
        sys.stderr.write(
            f"proofsweep: pace.workers is {workers}, not {wanted}: no more files can be open (ulimit -n)\n"
        )
