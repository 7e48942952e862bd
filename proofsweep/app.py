"""The composition root: an App makes the objects of all rooms from the settings, each when it is first asked for.

What brings Arrow, HTTP or logs is imported where it is needed, since they take most of the time of a command that reads
little; tests/architecture/test_light_check.py says which command loads what.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

from pydantic import SecretStr

from proofsweep.client.keys import KeySource, fingerprint, key_source
from proofsweep.client.service_clock import ServiceClock
from proofsweep.config.load import Settings, environment
from proofsweep.config.notices import say
from proofsweep.config.proxies import Proxies
from proofsweep.config.threads import utc_now
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ConfigError, NothingDue, ResultsError
from proofsweep.domain.runs import Bounds, Plan, closing_of
from proofsweep.sources.selection import ALL_ROWS, Selection
from proofsweep.store.objects import Store, is_probed_first, open_store, probe
from proofsweep.verify.forecast import Forecast, Means, forecast

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from proofsweep.alerts.facts import AlertFacts
    from proofsweep.alerts.monitor import Check, ProbeBatch
    from proofsweep.alerts.rules import Alert
    from proofsweep.alerts.send import Gather, Notifier, Receivers
    from proofsweep.domain.items import WorkItem
    from proofsweep.ingest.watched_folder import WatchedFolder
    from proofsweep.operations.key_store import KeyStore
    from proofsweep.operations.operation import Operator
    from proofsweep.operations.rotate import Rotated
    from proofsweep.sources.catalog import Catalog
    from proofsweep.store.heartbeat import LegProgress
    from proofsweep.store.parts import Results
    from proofsweep.verify.item import Record
    from proofsweep.verify.leg import Leg
    from proofsweep.verify.plan import Planner
    from proofsweep.verify.resume import RunChoice
    from proofsweep.verify.service import Service, ServiceStatus

_CHECK_ATTEMPTS = 2  # attempts of the one call of a check

_open: list["App"] = []
"""The Apps in whose `with` this process is. Prefect shows and keeps all that a flow is given, so neither a command nor
a flow can hand its App to the flow that it calls: that one finds it here, and so the key, the rate and the answer of
the service that are known already."""


class App:
    """What one process does with one service and one results store. Its `with` closes what was opened.

    `read_block` reads a secret block of the orchestrator, of which the core knows nothing; None where there is none.
    """

    def __init__(self, settings: Settings, read_block: Callable[[str], str] | None = None) -> None:
        self.settings = settings
        self.environment = settings.service.environment
        self.leg: Leg | None = None  # that this process holds and works on, for a display beside the work
        self.run_elsewhere: str | None = None  # whose partitions other processes work on for this one
        self.is_stopped = False  # by a person or a signal, so no other run is begun
        self.require_runner: Callable[[], object] = lambda: None  # raises if nothing could work on a run
        self.clock = ServiceClock()  # of all that is stored: the service's, once it has answered
        self._read_block = read_block
        self._proxies = Proxies(environment())
        self._service: Service | None = None

    @classmethod
    def here(cls, settings: Settings, read_block: Callable[[str], str] | None = None) -> "App":
        """Return the App of the command or flow that calls this flow with the same settings, or a new one."""
        alike = [app for app in _open if app.settings == settings]
        return alike[0] if alike else cls(settings, read_block)

    def __enter__(self) -> Self:
        _open.append(self)
        return self

    def __exit__(self, *_error: object) -> None:
        _open.remove(self)
        if self not in _open:
            self.close()

    def close(self) -> None:
        """Close what speaks to the service; the next use of it opens it anew."""
        if self._service is None:
            return
        # The next service has a switch of its own, which knows nothing of this stop.
        reason = self._service.stop.reason
        if reason is not None and reason.ended_by in {EndedBy.CANCELLED, EndedBy.INTERRUPTED}:
            self.is_stopped = True
        self._service.close()
        self._service = None

    # --- What everything else needs

    @cached_property
    def store(self) -> Store:
        return open_store(self.settings.results.url, must_exist=self.settings.results.must_exist)

    @cached_property
    def results(self) -> "Results":
        from proofsweep.store.parts import Results

        return Results(self.store)

    def probed_store(self) -> str:
        """See that the results store can be written, and return its URL; ResultsError if it cannot."""
        probe(self.store)
        return self.store.url

    @property
    def service(self) -> "Service":
        """Return the service, anew after a stop; ConfigError or ResultsError if the key cannot be used."""
        if self._service is not None and self._service.stop.reason is not None:
            self.close()
        if self._service is None:
            self._service = self._open_service()
        return self._service

    def keyless_service(self) -> "AbstractContextManager[Service]":
        """Return the service for calls that need no key, and so also at an address that the key was not used with."""
        return closing(self._open_service(lambda: SecretStr("no key"), is_checked=False))

    def _open_service(self, key: KeySource | None = None, *, is_checked: bool = True) -> "Service":
        from proofsweep.config.certificates import require_certificates
        from proofsweep.store.folder_root import MARKER
        from proofsweep.verify.service import Service, bind_key, check_key

        require_certificates()
        settings = self.settings
        read = key or key_source(settings.service, environment(), self._read_block)

        def read_own() -> SecretStr:
            """Read the key, but never one that belongs to another service (contract, Authentication 6)."""
            secret = read()
            check_key(self.store, fingerprint(secret), settings.service.base_url)
            return secret

        def bind(secret: SecretStr) -> bool:
            """Remember whose key this is, where there is a store; a command that verifies nothing begins none."""
            with suppress(ResultsError):
                if self.store.read(MARKER) is not None:
                    bind_key(self.store, fingerprint(secret), settings.service.base_url)
                return True
            return False

        sections = (settings.service, settings.pace, settings.retry, settings.timeouts)
        source = read_own if is_checked else read
        service = Service(*sections, source, proxies=self._proxies, clock=self.clock)
        if is_checked:
            service.key.bind = bind
        return service

    # --- Catalogs and plans

    def bounds(self, *, max_calls: int | None = None, until: str | None = None) -> Bounds:
        """Return the bounds of a leg that begins now, as given or as set; a given time replaces both that are set."""
        usual = self.settings.bounds
        max_duration = None
        if until is None:
            until, max_duration = usual.until, usual.max_duration
        if max_calls is None:
            max_calls = usual.max_calls
        closes_at = closing_of(until, max_duration, utc_now())
        return Bounds(reserve=usual.reserve, max_calls=max_calls, closes_at=closes_at)

    def catalog(self, location: str) -> "Catalog":
        from proofsweep.sources.open_catalog import open_catalog

        return open_catalog(location, self.settings.catalog)

    def away_is_outage(self) -> "AbstractContextManager[None]":
        """Raise RunMustStop if a catalog that was verified before is away, NothingDue if passes have emptied it."""
        from proofsweep.ingest.catalogs_away import away_is_outage

        return away_is_outage(lambda: self.results, self.environment)

    @property
    def planner(self) -> "Planner":
        from proofsweep.verify.plan import Planner

        settings = self.settings
        return Planner(results=self.results, service=settings.service, catalogs=settings.catalog, clock=self.clock)

    def plan(
        self,
        location: str,
        selection: Selection = ALL_ROWS,
        bounds: Bounds | None = None,
        *,
        apart_from: "Iterable[WorkItem] | None" = None,
        partitions: int | None = None,
    ) -> Plan:
        """Plan a run of a catalog or of chosen rows, and write it if it can be begun; else nothing was written.

        It has as many partitions as are given, or set. RunIsActive if a run of the catalog is worked on, NothingDue if
        no row is due, which is recorded and may end what was told: then all is well without a run.
        """
        from proofsweep.ingest.catalogs_away import emptied_is_quiet

        bounds = bounds or self.bounds()
        rows = self.chosen_rows(location, selection, bounds.max_calls, apart_from)
        try:
            with emptied_is_quiet(lambda: self.results, self.environment):
                return self.plan_listed(rows, selection, partitions=partitions)
        except NothingDue as nothing:
            if apart_from is None:  # else the run that went on before tells how it is
                end_of_idle = self.alert_facts.end_of_idle(rows.location, is_whole=not nothing.unmet)
                for line in self.send_alerts(end_of_idle):
                    say(line)
            raise

    def plan_listed(
        self,
        listing: "Catalog",
        selection: Selection = ALL_ROWS,
        run_id: str | None = None,
        partitions: int | None = None,
    ) -> Plan:
        """Plan a run of an open catalog's rows."""
        settings, service = self.settings, self.service

        def refuse_if_unusable() -> None:
            service.awaited(settings.bounds.reserve)
            if is_probed_first(settings.results.url):
                self.probed_store()
            self.require_runner()

        partitions = partitions or settings.partitions
        return self.planner.plan(listing, selection, refuse_if_unusable, run_id, partitions=partitions)

    def chosen_rows(
        self,
        location: str,
        selection: Selection,
        max_calls: int | None = None,
        apart_from: "Iterable[WorkItem] | None" = None,
    ) -> "Catalog":
        """Open a catalog with just the rows that are chosen; CatalogError or UsageError if they cannot be read.

        Items `apart_from` these are taken, as long as their files have the same versions.
        """
        from proofsweep.sources.folder import FolderScan
        from proofsweep.store.listings import held_before
        from proofsweep.verify.plan import DueRows

        whole = self.catalog(location)
        if isinstance(whole, FolderScan):
            identity = self.planner.identity_of(whole)
            whole.held_before = partial(held_before, self.results, self.environment, identity)
        if selection.is_of_all_rows and apart_from is None:
            return whole
        only = None
        if selection.only:
            # Only here: DuckDB that is loaded in the thread of a flow complains at the end.
            from proofsweep.queries.selected_rows import items_standing
            from proofsweep.store.known_rows import HashedItems

            items = items_standing(self.results, self.environment, selection.only)
            only = HashedItems(map(hash, items))
        return DueRows(whole, selection, self.planner, max_calls=max_calls, apart_from=apart_from or (), only=only)

    def refuse_bad_selection(self, location: str, selection: Selection, max_calls: int | None) -> None:
        """Raise CatalogError or UsageError if the options that choose rows cannot be used, before all else."""
        selection.refuse_contradictions(max_calls)
        if selection.conditions:
            self.chosen_rows(location, selection)

    def forecast(
        self, eligible: int, audio_bytes: int, status: "ServiceStatus", bounds: Bounds, may_be_free: int
    ) -> Forecast:
        """Forecast a run that begins now."""
        from proofsweep.verify.history import learned_rate, newest_measurement
        from proofsweep.verify.workers import workers_that_fit

        # Without a key, nobody knows the rate that the service gave it before.
        rate = None
        with suppress(ConfigError, ResultsError):
            key = self.service.key_fingerprint
            rate = learned_rate(self.results, self.settings.service.base_url, key, self.clock())
        workers = workers_that_fit(self.settings.pace.workers)
        means = Means(headroom=status.headroom, reset=status.quota_reset, bounds=bounds, rate=rate, workers=workers)
        measured = newest_measurement(self.results, self.environment)
        return forecast(eligible, audio_bytes, means, measured, self.clock(), may_be_free=may_be_free)

    # --- Runs and their legs

    @property
    def run_choice(self) -> "RunChoice":
        from proofsweep.verify.resume import RunChoice

        return RunChoice(results=self.results, environment=self.environment)

    def run_to_resume(self, location: str | None = None) -> Plan | None:
        """Return the newest unfinished run, of a catalog only a whole one of 35 days; RunIsActive if it is active."""
        from proofsweep.verify.resume import resumable_since

        identity = None
        if location is not None:
            identity = self.planner.identity_of(self.catalog(location))
        return self.run_choice.to_resume(resumable_since(self.clock()), identity)

    def run_of_retry(self, flow_run_id: str | None, bounds: Bounds) -> tuple[str | None, Bounds]:
        """Return the run that a flow run goes on with, and what its leg may spend; None as for the first time."""
        from proofsweep.verify.resume import resumable_since

        if flow_run_id is None:
            return None, bounds
        since = resumable_since(self.service.asked_clock())
        return self.run_choice.of_retry(flow_run_id, bounds, since)

    def runs_of_catalog(
        self, given: str | None, location: str, bounds: Bounds, selection: Selection = ALL_ROWS
    ) -> Iterator[tuple[str, Bounds]]:
        """Yield the run that is given, else those of a catalog: its unfinished one, then one of the selection."""
        if given is not None:
            yield given, bounds
            return
        self.refuse_bad_selection(location, selection, bounds.max_calls)
        self.service.asked_clock()
        resumed = self.run_to_resume(location)

        def plan(rest: Bounds) -> Plan:
            return self.plan(location, selection, rest, apart_from=self.rows_of_resumed(resumed, selection))

        yield from self.runs_in_turn(resumed, plan, bounds)

    def rows_of_resumed(self, resumed: Plan | None, selection: Selection) -> "Iterable[WorkItem] | None":
        """Return the items that a run of what is due leaves out, as the run that went on before it has them."""
        return self.run_choice.rows_of_resumed(resumed, selection.answered_since(self.clock()))

    def runs_in_turn(
        self, resumed: Plan | None, plan: Callable[[Bounds], Plan], bounds: Bounds
    ) -> Iterator[tuple[str, Bounds]]:
        """Yield the ID and the bounds of the run that goes on, then of one that is planned."""
        yield from self.run_choice.in_turn(resumed, plan, bounds, lambda: self.is_stopped)

    @contextmanager
    def attempt(
        self,
        run_id: str,
        *,
        partition: int = 0,
        sharers: int = 1,
        flow_run_id: str | None = None,
        bounds: Bounds | None = None,
    ) -> "Iterator[Leg]":
        """Begin the next leg of a partition, and settle it however the work inside ends.

        The bounds are of so many legs together that begin now. RunIsActive if another leg of the partition is alive.
        ConfigError, ResultsError or RunMustStop if no leg was begun.
        """
        from proofsweep.verify.attempt import begun_leg

        begun = begun_leg(
            self._service or self.service,  # even if it was stopped: that must not be lost
            self.results,
            run_id,
            bounds or self.bounds(),
            partition=partition,
            sharers=sharers,
            flow_run_id=flow_run_id,
            dedupe=self.settings.catalog.dedupe,
            drain_seconds=self.settings.bounds.drain_seconds,
        )
        try:
            with begun as self.leg:
                yield self.leg
        finally:
            self.leg = None
            self.close()

    def progress(self) -> "LegProgress | None":
        """Return how far the work is: of this process's leg, or of all legs of the run that others work on."""
        from proofsweep.queries.status import progress_of_run

        if self.leg is not None:
            return self.leg.progress
        if self.run_elsewhere is None:
            return None
        with suppress(ResultsError):
            return progress_of_run(self.results, self.run_elsewhere)
        return None

    # --- Other operations

    def operations(self, max_calls: int | None = None) -> "Operator":
        from proofsweep.operations.operation import Operator

        return Operator(results=self.results, service=self.service, bounds=self.bounds(max_calls=max_calls))

    def rotate_key(self, key_store: "KeyStore") -> "Rotated":
        """Rotate the key, or go on with it."""
        from proofsweep.operations.rotate import rotate_key

        return rotate_key(self.operations(), key_store, self._try_key)

    def _try_key(self, key: SecretStr, record: "Record") -> None:
        # With a service of its own: a refusal must not stop other work of this process.
        with closing(self._open_service(lambda: key)) as service:
            service.partner.in_new_session(record).usage(days=1)

    # --- Watched folders

    def watched_folder(self, location: str) -> "AbstractContextManager[WatchedFolder]":
        from proofsweep.ingest.records import IngestContext
        from proofsweep.ingest.watched_folder import watched_folder

        context = IngestContext(
            results=self.results,
            environment=self.environment,
            settings=self.settings.ingest,
            sidecar_field=self.settings.service.sidecar_field,
            open_catalog=self.catalog,
            plan=lambda catalog, run_id: self.plan_listed(catalog, run_id=run_id),
            clock=utc_now,
            new_run_id=lambda: self.service.new_run_id(),  # noqa: PLW0108 - opened when a pass plans
            is_stopped=lambda: self.is_stopped,
        )
        return watched_folder(context, location)

    # --- Alerts

    @property
    def alert_facts(self) -> "AlertFacts":
        from proofsweep.alerts.facts import AlertFacts
        from proofsweep.alerts.monitor import is_well

        settings = self.settings
        return AlertFacts(
            results=self.results,
            service=settings.service,
            catalogs=settings.catalog,
            settings=settings.alerts,
            clock=utc_now,
            is_well=partial(is_well, self.keyless_service),
        )

    def alert_check(self, catalogs: Sequence[str]) -> "Check":
        from proofsweep.alerts.monitor import Check

        return Check(
            facts=self.alert_facts,
            catalogs=catalogs,
            folder=str(Path.cwd()),
            key_in_use=lambda: self.service.key_fingerprint,
            ask_usage=lambda: self.service.partner.with_attempts(_CHECK_ATTEMPTS).usage(days=1),
        )

    def monitored(self) -> "tuple[ProbeBatch, list[Alert], list[str]]":
        """Make one pass of monitoring."""
        from proofsweep.alerts.monitor import monitor

        # With a service of its own: no earlier failure must hold this probe back.
        with closing(self._open_service()) as service:
            return monitor(self.alert_facts, service.partner)

    def send_alerts(self, gather: "Gather", flow_page: Callable[[], str | None] = lambda: None) -> list[str]:
        """Tell those whom the settings name; return one line if that failed. It never raises an error."""
        from proofsweep.alerts.send import complaints_of

        return complaints_of(lambda: self.notifier(flow_page()), gather)

    def notifier(self, flow_page: str | None = None) -> "Notifier | None":
        from proofsweep.alerts.send import Notifier

        receivers = self.receivers()
        if receivers is None:
            return None
        return Notifier(store=self.store, receivers=receivers, clock=utc_now, page=flow_page)

    def receivers(self) -> "Receivers | None":
        from proofsweep.alerts.send import receivers_of
        from proofsweep.config.certificates import OF_ALERTS, require_certificates

        require_certificates(OF_ALERTS)
        return receivers_of(self.settings.alerts, self._read_block)
