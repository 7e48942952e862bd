"""The only wiring: settings in, working objects out. It keeps one engine per process and settings."""

import os
import secrets
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from proofsweep import __version__
from proofsweep.batch.exchanges import Exchange
from proofsweep.batch.preflight import SizeLimits
from proofsweep.batch.runs import Plan
from proofsweep.client.breaker import Breaker
from proofsweep.client.conversation import Conversation, Line
from proofsweep.client.gate import Gate
from proofsweep.client.keys import CurrentKey, KeySource, fingerprint, key_block, key_file, key_variable
from proofsweep.client.pacer import Pacer
from proofsweep.client.partner import Partner
from proofsweep.client.retry import RetryPolicy
from proofsweep.client.stop import StopSwitch
from proofsweep.client.transport import Timeouts, Transport
from proofsweep.errors import CatalogError, ConfigError
from proofsweep.settings import ServiceSettings, Settings, environment, load_settings
from proofsweep.storage.catalogs import Catalog, open_catalog
from proofsweep.storage.journal import Journal
from proofsweep.storage.results import Results
from proofsweep.storage.stores import open_store
from proofsweep.usecases.desk import Desk
from proofsweep.usecases.examine_service import ServiceSeen, examine_service
from proofsweep.usecases.open_leg import open_leg
from proofsweep.usecases.plan_run import Asked, plan_run
from proofsweep.usecases.sitting import leg_facts, sitting
from proofsweep.usecases.survey_catalog import Survey

ReadBlock = Callable[[str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where one leg of a run is worked on: all that a task is told. Holds no secret.

    Attributes:
        config: a profile's name or a file's path; None for the default.
        results_url: None for the one in the settings.
    """

    config: str | None
    results_url: str | None
    run_id: str
    leg: int


@dataclass(slots=True, kw_only=True)
class Engine:
    """What one process shares between all it does with one service.

    Attributes:
        aside: exchanges that belong to no row and are not written down yet.
    """

    settings: Settings
    partner: Partner
    stop: StopSwitch
    limits: SizeLimits
    workers: ThreadPoolExecutor
    aside: list[Exchange] = field(default_factory=list)
    _seen: ServiceSeen | None = None

    def examined(self) -> ServiceSeen:
        """Look at the service, once.

        Raises:
            ConfigError, RunMustStop: it cannot be worked with.
        """
        if self._seen is None:
            self._seen = examine_service(self.partner)
        return self._seen

    def close(self) -> None:
        """Let the workers finish what is in hand, and close all connections."""
        self.workers.shutdown(wait=True, cancel_futures=True)
        self.partner.talk.line.transport.close()

    @property
    def key_fingerprint(self) -> str:
        """Tell the key in use from others."""
        return fingerprint(self.partner.talk.line.key.get())


_lock = threading.RLock()
_engines: dict[str, Engine] = {}
_desks: dict[Place, Desk] = {}


def engine(config: str | None, read_block: ReadBlock | None = None) -> Engine:
    """Give this process's engine for a config, as `engine_for` does for its settings."""
    return engine_for(load_settings(config), read_block)


def engine_for(settings: Settings, read_block: ReadBlock | None = None) -> Engine:
    """Give this process's engine for these settings.

    Raises:
        ConfigError: the key cannot be had.
    """
    name = settings.model_dump_json()
    with _lock:
        if name not in _engines or _engines[name].stop.reason is not None:
            _engines[name] = _build_engine(settings, read_block)
        return _engines[name]


def desk_for(place: Place, read_block: ReadBlock | None = None) -> Desk:
    """Give this process's desk for one leg of a run; the leg must have been claimed."""
    with _lock:
        if place not in _desks:
            _desks[place] = _build_desk(place, read_block)
        return _desks[place]


def plan_catalog(
    catalog: str | None, config: str | None, results_url: str | None, *, read_block: ReadBlock | None = None
) -> Plan:
    """Plan a run of a catalog: its shards and its plan are written, once it is clear that it can be begun.

    Raises:
        CatalogError, ConfigError, ResultsError, RunMustStop: it cannot be; nothing was written.
    """
    if catalog is None:
        raise ConfigError("Give either a run or a catalog.")
    settings = load_settings(config)
    results = results_for(settings, results_url)

    def can_be_begun(survey: Survey) -> None:
        refuse_unnamed_pairs(survey, settings)
        mine = engine_for(settings, read_block)
        results.check_key(mine.key_fingerprint, settings.service.base_url)
        mine.examined()

    asked = Asked(
        catalog=catalog_for(settings, catalog),
        limits=limits_for(settings),
        environment=settings.service.environment,
        base_url=settings.service.base_url,
        before_writing=can_be_begun,
    )
    return plan_run(asked, results, utc_now())


def refuse_unnamed_pairs(survey: Survey, settings: Settings) -> None:
    """Raise ConfigError if there are pairs whose sidecar the service would not recognise (contract, Naming note).

    A service passes over a field that it does not know, and would verify the audio alone: a false `unreadable`.
    """
    if survey.pairs and settings.service.sidecar_field is None:
        raise ConfigError(
            f"The catalog holds {survey.pairs} legacy pair(s), but the sidecar's wire name is not set: "
            "ask the partner for it and set service.sidecar_field."
        )


def catalog_has_changed(plan: Plan, config: str | None) -> bool:
    """Say whether the catalog is not what it was when the run was planned; one that is gone has changed too."""
    try:
        return catalog_for(load_settings(config), plan.catalog).digest() != plan.catalog_digest
    except CatalogError:
        return True


@contextmanager
def held_leg(
    run_id: str, config: str | None, results_url: str | None, *, flow_run_id: str | None, read_block: ReadBlock | None
) -> Iterator[tuple[Place, Desk]]:
    """Claim the next leg of a run, and settle it however the work inside ends.

    Raises:
        RunIsActive: another leg is alive.
        ConfigError, ResultsError, RunMustStop: it cannot be begun; nothing was claimed.
    """
    settings = load_settings(config)
    mine, results = engine_for(settings, read_block), results_for(settings, results_url)
    plan = results.plan(run_id)
    seen = mine.examined()
    results.bind_key(mine.key_fingerprint, settings.service.base_url)
    place = Place(config=config, results_url=results_url, run_id=run_id, leg=open_leg(results, plan, utc_now))
    desk = desk_for(place, read_block)
    try:
        with sitting(desk, mine.aside, leg_facts(seen, mine.key_fingerprint, flow_run_id)):
            yield place, desk
    finally:
        _forget(place, mine)


def close_engines() -> None:
    """Close every engine that this process still holds, when a command is over."""
    with _lock:
        for engine in _engines.values():
            engine.close()
        _engines.clear()


def desks() -> list[Desk]:
    """Give the desks of this process, for whoever watches the work."""
    with _lock:
        return list(_desks.values())


def results_for(settings: Settings, url: str | None = None) -> Results:
    """Open the results store that the settings name, or another one."""
    return Results(open_store(url or settings.results.url))


def catalog_for(settings: Settings, location: str) -> Catalog:
    """Open a catalog with the settings' way of pairing."""
    return open_catalog(location, sidecar_names=settings.catalog.sidecar_names)


def limits_for(settings: Settings) -> SizeLimits:
    """Give the largest sizes that are sent."""
    return SizeLimits(pair=settings.limits.pair_bytes, sidecar=settings.limits.sidecar_bytes)


def utc_now() -> datetime:
    """Give the time; the one clock that is handed to everything else."""
    return datetime.now(UTC)


def _forget(place: Place, engine: Engine) -> None:
    with _lock:
        _desks.pop(place, None)
        _engines.pop(engine.settings.model_dump_json(), None)
    engine.close()


def _build_engine(settings: Settings, read_block: ReadBlock | None) -> Engine:
    stop = StopSwitch()
    aside: list[Exchange] = []
    retry, times = settings.retry, settings.timeouts
    line = Line(
        base_url=settings.service.base_url,
        transport=Transport(user_agent=f"proofsweep/{__version__}", timeouts=Timeouts(**times.model_dump())),
        gate=Gate(
            Pacer(settings.pace.longest_pause_seconds), Breaker(retry.breaker_failures, retry.breaker_seconds), stop
        ),
        key=CurrentKey(_key_source(settings.service, read_block)),
        policy=RetryPolicy(
            attempts=retry.attempts,
            first_wait_seconds=retry.first_wait_seconds,
            longest_wait_seconds=retry.longest_wait_seconds,
        ),
        record_aside=aside.append,
    )
    return Engine(
        settings=settings,
        partner=Partner(sidecar_field=settings.service.sidecar_field, talk=Conversation(line, aside.append)),
        stop=stop,
        limits=limits_for(settings),
        workers=ThreadPoolExecutor(settings.pace.workers, thread_name_prefix="verify"),
        aside=aside,
    )


def _build_desk(place: Place, read_block: ReadBlock | None) -> Desk:
    settings = load_settings(place.config)
    engine = engine_for(settings, read_block)
    results = results_for(settings, place.results_url)
    writer = f"{os.getpid()}_{secrets.token_hex(4)}"
    return Desk(
        plan=results.plan(place.run_id),
        leg=place.leg,
        results=results,
        journal=Journal(results, place.run_id, place.leg, writer),
        partner=engine.partner,
        stop=engine.stop,
        limits=engine.limits,
        workers=engine.workers,
        clock=utc_now,
    )


def _key_source(service: ServiceSettings, read_block: ReadBlock | None) -> KeySource:
    if service.api_key_file is not None:
        return key_file(service.api_key_file)
    if service.api_key_env is not None:
        return key_variable(service.api_key_env, environment())
    if service.api_key_block is not None and read_block is not None:
        return key_block(service.api_key_block, read_block)
    raise ConfigError("The settings do not say where the API key is kept (service.api_key_file, _env or _block).")
