"""Watched folders and alerts: what each needs, from the settings."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import fields
from functools import partial

from proofsweep.alerts.facts import AlertScope, catalog_is_back, end_of_flow, end_of_pass
from proofsweep.alerts.monitor import Check, Monitored, ProbeBatch, monitor, probe_service
from proofsweep.alerts.rules import TEST_ALERT, state_of_ending
from proofsweep.alerts.send import Delivery, Gather, Notifier, Receivers, complaints_of, urls_in_file
from proofsweep.config.load import Settings, environment
from proofsweep.domain.errors import ConfigError, RunMustStop
from proofsweep.ingest import one_pass as folders
from proofsweep.ingest.one_pass import IngestContext
from proofsweep.ingest.one_pass import WatchedFolder as WatchedFolder  # noqa: PLC0414 - a command names it
from proofsweep.ingest.rules import IngestRules, PassReport
from proofsweep.sources.selection import ALL_ROWS, Selection
from proofsweep.store import layout
from proofsweep.wiring.catalogs import catalog_for
from proofsweep.wiring.engines import build_engine, engine_for, limits_for, utc_now
from proofsweep.wiring.key_sources import ReadBlock
from proofsweep.wiring.runs import plan_listed
from proofsweep.wiring.stores import results_for

_NOBODY = "Nobody would be told: set alerts.urls_file, alerts.urls_env or alerts.urls_block; see docs/alerts.md."
_ATTEMPTS = 2  # attempts of the one call of a check


def alert_scope(settings: Settings) -> AlertScope:
    return AlertScope(
        results=results_for(settings),
        environment=settings.service.environment,
        base_url=settings.service.base_url,
        key_expires_at=settings.service.key_expires_at,
        no_success_hours=settings.alerts.no_success_hours,
        low_quota_percent=settings.alerts.low_quota_percent,
        clock=utc_now,
        notifier=partial(notifier_for, settings),
    )


def tell(settings: Settings, gather: Gather, read_block: ReadBlock | None = None) -> list[str]:
    """Tell those whom the settings name; return one line if that failed. It never raises an error."""
    return complaints_of(lambda: notifier_for(settings, read_block), gather)


def tell_of_stop(settings: Settings, stop: RunMustStop, catalog: str | None, read_block: ReadBlock | None) -> list[str]:
    scope, state = alert_scope(settings), state_of_ending(stop.ended_by)
    end = end_of_flow(scope, "verify-catalog", state, stop.message, catalog=catalog, away=stop.catalog)
    return tell(settings, end, read_block)


def tell_of_return(settings: Settings, catalog: str, read_block: ReadBlock | None) -> list[str]:
    """Keep in mind that a catalog can be read, though nothing of it is due: its next absence is told again."""
    return tell(settings, catalog_is_back(alert_scope(settings), catalog), read_block)


def tell_of_pass(settings: Settings, watched: str, report: PassReport, read_block: ReadBlock | None) -> list[str]:
    return tell(settings, end_of_pass(alert_scope(settings), watched, report), read_block)


def check_for(settings: Settings, catalogs: Sequence[str], folder: str, read_block: ReadBlock | None = None) -> Check:
    return Check(
        scope=alert_scope(settings),
        catalogs=catalogs,
        folder=folder,
        key_in_use=lambda: engine_for(settings, read_block).key_fingerprint,
        ask_usage=lambda: engine_for(settings, read_block).partner.with_attempts(_ATTEMPTS).usage(days=1),
    )


def deliver(settings: Settings, gather: Gather, read_block: ReadBlock | None) -> Delivery:
    """Tell those whom the settings name; ConfigError if that is nobody."""
    notifier = notifier_for(settings, read_block)
    if notifier is None:
        raise ConfigError(_NOBODY)
    return notifier.notify(*gather())


def deliver_test(settings: Settings, read_block: ReadBlock | None) -> tuple[Delivery, int]:
    """Send a test message; return what became of it, and how many are told. ConfigError if that is nobody."""
    receivers = receivers_for(settings, read_block)
    if receivers is None:
        raise ConfigError(_NOBODY)
    (missed,) = receivers.send([TEST_ALERT])
    return Delivery([TEST_ALERT], missed=missed), len(receivers.names)


def monitor_and_tell(settings: Settings, read_block: ReadBlock | None) -> tuple[Monitored, Delivery]:
    monitored, notifier = monitor_service(settings, read_block), notifier_for(settings, read_block)
    if notifier is None:
        return monitored, Delivery(monitored.alerts, untold=[each.cause for each in monitored.alerts])
    return monitored, notifier.notify(monitored.alerts, monitored.over)


def monitor_service(settings: Settings, read_block: ReadBlock | None = None) -> Monitored:
    """Make one pass of monitoring, with an engine of its own: no earlier failure must hold this probe back."""
    engine = build_engine(settings, read_block)

    def probe() -> ProbeBatch:
        try:
            return probe_service(engine.partner)
        finally:
            engine.close()

    return monitor(alert_scope(settings), probe)


def notifier_for(settings: Settings, read_block: ReadBlock | None, flow_page: str | None = None) -> Notifier | None:
    try:
        receivers = receivers_for(settings, read_block)
    except ConfigError as trouble:
        receivers = Receivers({}, trouble)
    if receivers is None:
        return None
    store, repeat_days = results_for(settings).store, settings.alerts.repeat_days
    return Notifier(store=store, receivers=receivers, clock=utc_now, repeat_days=repeat_days, page=flow_page)


def receivers_for(settings: Settings, read_block: ReadBlock | None) -> Receivers | None:
    """Read who is told; None if the settings name nobody. ConfigError if the URLs cannot be read or used."""
    alerts = settings.alerts
    if alerts.urls_file is not None:
        return Receivers.read(urls_in_file(alerts.urls_file), where=f"The file {alerts.urls_file}")
    if alerts.urls_env is not None:
        urls = environment().get(alerts.urls_env, "")
        return Receivers.read(urls, where=f"The environment variable {alerts.urls_env}")
    if alerts.urls_block is None:
        return None
    if read_block is None:
        raise ConfigError("The settings keep the alert URLs in a Prefect Secret block, which cannot be read here.")
    return Receivers.read(read_block(alerts.urls_block), where=f"The secret block {alerts.urls_block}")


def watched_folder(
    settings: Settings, location: str, read_block: ReadBlock | None, selection: Selection = ALL_ROWS
) -> AbstractContextManager[WatchedFolder]:
    ingest = settings.ingest
    context = IngestContext(
        results=results_for(settings),
        store=results_for(settings).store.within(layout.INGEST_FOLDER),
        environment=settings.service.environment,
        rules=_rules(settings),
        selection=selection,
        accepted=ingest.accepted,
        quarantine=ingest.quarantine,
        by_release=ingest.batch_moves == "release",
        supplier_tag=ingest.supplier_tag,
        limits=limits_for(settings),
        open_catalog=partial(catalog_for, settings, selection=selection),
        plan=lambda catalog, run_id: plan_listed(settings, catalog, read_block, selection=selection, run_id=run_id),
        clock=utc_now,
    )
    return folders.watched_folder(context, location)


def given_up_items(settings: Settings) -> set[str]:
    return folders.given_up_items(results_for(settings).store.within(layout.INGEST_FOLDER), _rules(settings))


def _rules(settings: Settings) -> IngestRules:
    return IngestRules(**settings.ingest.model_dump(include={each.name for each in fields(IngestRules)}))
