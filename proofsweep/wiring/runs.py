"""Runs, from the settings: bounds, catalogs, plans and forecasts."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import chain

from proofsweep.config.load import Settings
from proofsweep.config.locations import is_bucket
from proofsweep.domain.errors import ConfigError, ResultsError
from proofsweep.domain.items import sidecar_key
from proofsweep.domain.runs import INGEST, OUTCOMES, Bounds, Plan, closing_of, new_run_id
from proofsweep.queries.status import describe_run, unfinished_runs
from proofsweep.sources.catalog import Catalog
from proofsweep.sources.selection import ALL_ROWS, Selection
from proofsweep.store.known_rows import AnswerTimes, HashedItems
from proofsweep.store.legs import CatalogClaims
from proofsweep.store.objects import probe
from proofsweep.store.runs import RunIndex
from proofsweep.store.tables import ANSWERED
from proofsweep.verify import plan as planning
from proofsweep.verify import resume as unfinished
from proofsweep.verify.due_rows import Coverage, DueRows, coverage_of
from proofsweep.verify.forecast import Forecast, Means, Need, forecast
from proofsweep.verify.history import measured_legs, note_run
from proofsweep.verify.plan import PlanRequest, Survey, plan_run, survey_catalog, unsent_rows
from proofsweep.verify.plan import Surveyed as Surveyed  # noqa: PLC0414 - commands name it
from proofsweep.verify.plan import UnsentRow as UnsentRow  # noqa: PLC0414 - the same
from proofsweep.verify.service import ServiceStatus
from proofsweep.verify.session import RemainingItems
from proofsweep.verify.threads import most_open_files, workers_that_fit
from proofsweep.wiring.catalogs import catalog_for, credential_check, refuse_unsendable
from proofsweep.wiring.engines import engine_for, limits_for, utc_now
from proofsweep.wiring.key_sources import ReadBlock
from proofsweep.wiring.lanes import remembered_rate
from proofsweep.wiring.stores import results_for

QUOTA_PROBE_SECONDS = 300.0
"""Time between two probes of the headroom (contract, Versioning 7: about every five minutes)."""
RESUME_DAYS = 35.0
"""A catalog's unfinished run goes on first if it was planned at most so long ago."""


def bounds_for(
    settings: Settings,
    *,
    reserve: int | None = None,
    max_calls: int | None = None,
    until: str | None = None,
    max_duration: str | None = None,
) -> Bounds:
    """Return the bounds of a leg that begins now, as given or as set; a given time replaces both that are set."""
    usual = settings.bounds
    if until is None and max_duration is None:
        until, max_duration = usual.until, usual.max_duration
    return Bounds(
        reserve=usual.reserve if reserve is None else reserve,
        max_calls=usual.max_calls if max_calls is None else max_calls,
        closes_at=closing_of(until, max_duration, utc_now()),
    )


def plan_catalog(
    settings: Settings,
    catalog: str,
    read_block: ReadBlock | None = None,
    *,
    selection: Selection = ALL_ROWS,
    bounds: Bounds | None = None,
    after: Plan | None = None,
    beside: Plan | None = None,
) -> Plan:
    """Plan a run of a catalog or of chosen rows, and write it if it can be begun; else nothing was written.

    Neither what a run that has just ended had planned is due (`after`), nor what remains of an unfinished one
    (`beside`). RunIsActive if a run of the catalog is worked on, NothingDue if no row is due.
    """
    bounds = bounds or bounds_for(settings)
    selection.refuse_contradictions(bounds.max_calls)
    rows = chosen_rows(settings, catalog, selection, max_calls=bounds.max_calls, after=after, beside=beside)
    return plan_listed(settings, rows, read_block, selection=selection, reserve=bounds.reserve)


def chosen_rows(
    settings: Settings,
    catalog: str,
    selection: Selection,
    *,
    max_calls: int | None = None,
    after: Plan | None = None,
    beside: Plan | None = None,
) -> Catalog:
    """Open a catalog with just the rows that are chosen; CatalogError or UsageError if they cannot be read."""
    whole = catalog_for(settings, catalog, selection)
    if selection.is_of_all_rows and after is None and beside is None:
        return whole
    results, environment = results_for(settings), settings.service.environment
    elsewhere = chain(
        () if after is None else results.items(after),
        () if beside is None else RemainingItems(results, beside).all_items(),
    )
    only = None
    if selection.only:
        from proofsweep.queries.selected_rows import items_standing  # noqa: PLC0415 - DuckDB loaded with the flow complains at the end

        only = HashedItems(items_standing(results, environment, selection.only))
    return DueRows(
        whole,
        selection,
        limits=limits_for(settings),
        answered_at=AnswerTimes(results, environment, ANSWERED).of,
        tried_at=AnswerTimes(results, environment, OUTCOMES).of,
        now=utc_now(),
        max_calls=max_calls,
        planned=HashedItems(
            (item.item_id, item.audio_version, sidecar_key(item.sidecar, item.sidecar_version)) for item in elsewhere
        ),
        only=only,
    )


def refuse_bad_selection(settings: Settings, catalog: str, selection: Selection, max_calls: int | None) -> None:
    """Raise CatalogError or UsageError if the options that choose rows cannot be used, before anything else is done."""
    selection.refuse_contradictions(max_calls)
    if selection.conditions:
        chosen_rows(settings, catalog, selection)


def plan_listed(
    settings: Settings,
    catalog: Catalog,
    read_block: ReadBlock | None = None,
    *,
    selection: Selection = ALL_ROWS,
    reserve: int | None = None,
    run_id: str | None = None,
) -> Plan:
    engine, results, identity = engine_for(settings, read_block), results_for(settings), identity_of(settings, catalog)
    claims = CatalogClaims(results, settings.service.environment, identity)
    claim = None if catalog.kind == INGEST else claims.last_inactive()

    def refuse_if_hopeless(survey: Survey) -> None:
        refuse_unsendable(settings, survey, catalog, selection)
        engine.awaited_service(settings.bounds.reserve if reserve is None else reserve)
        if is_bucket(settings.results.url):  # a store that speaks S3 may still know no conditional create
            probe(results.store)

    request = PlanRequest(
        catalog=catalog,
        limits=limits_for(settings),
        environment=settings.service.environment,
        base_url=settings.service.base_url,
        claim=claim,
        identity=identity,
        selection=selection.text,
        credential_check=credential_check(settings, catalog, selection),
        before_writing=refuse_if_hopeless,
        run_id=run_id,
    )
    plan = plan_run(request, results, utc_now())
    note_run(results, plan)
    return plan


def coverage_for(settings: Settings, catalog: str | None, selection: Selection) -> Coverage | None:
    """List a catalog, and count its rows that have a young answer; None without a catalog or an age."""
    if catalog is None or selection.max_age is None:
        return None
    young = replace(selection, since_last=False, oldest_first=False, where=None, newer_than=None, only=())
    return coverage_of(chosen_rows(settings, catalog, young), selection.max_age)


def identity_of(settings: Settings, catalog: Catalog) -> str:
    return planning.identity_of(results_for(settings), catalog, settings.catalog.name)


def lists_before(settings: Settings, found: Surveyed) -> list[tuple[Plan, int]]:
    """Return plans of other lists that know most rows of a new list without a name, and how many they know."""
    results, environment = results_for(settings), settings.service.environment
    identity, plans = identity_of(settings, found.listing), RunIndex(results).refreshed().plans(environment)
    if settings.catalog.name is not None or any(plan.identity == identity for plan in plans):
        return []
    return planning.lists_before(results, found.listing, found.survey, environment, identity)


def surveyed(settings: Settings, catalog: str, selection: Selection, max_calls: int | None) -> Surveyed:
    """Read the chosen rows of a catalog once; NothingDue if there is none, ConfigError if none could ever be sent."""
    listing = chosen_rows(settings, catalog, selection, max_calls=max_calls)
    survey = survey_catalog(listing, limits_for(settings), credential_check(settings, listing, selection))
    refuse_unsendable(settings, survey, listing, selection)
    return Surveyed(listing, survey)


def unsent(settings: Settings, catalog: str, selection: Selection) -> Iterator[UnsentRow]:
    """Yield the chosen rows that will not be sent, as the catalog is read; NothingDue if no row is chosen."""
    listing = chosen_rows(settings, catalog, selection)
    return unsent_rows(listing, limits_for(settings), credential_check(settings, listing, selection))


def run_to_resume(settings: Settings, catalog: str | None = None, selection: Selection = ALL_ROWS) -> Plan | None:
    """Return the newest unfinished run, of a catalog only a whole one of 35 days; RunIsActive if it is worked on."""
    results = results_for(settings)
    environment = settings.service.environment
    plans = (plan for plan in unfinished_runs(results) if plan.environment == environment)
    if catalog is not None:
        opened = catalog_for(settings, catalog, selection)
        identity = identity_of(settings, opened)
        oldest = new_run_id(resumable_since(), "")
        plans = (plan for plan in plans if unfinished.is_whole_run_of(plan, environment, identity, oldest))
    return unfinished.run_to_resume(results, plans, utc_now)


def supersede_older(settings: Settings, new: Plan) -> None:
    results = results_for(settings)
    unfinished.supersede_older(results, unfinished_runs(results), new, utc_now)


def runs_of_catalog(
    settings: Settings,
    given: str | None,
    catalog: str,
    bounds: Bounds,
    read_block: ReadBlock | None,
    *,
    selection: Selection = ALL_ROWS,
) -> Iterator[tuple[str, Bounds]]:
    """Yield the run that is given, else those of a catalog: its unfinished one, then one of the selection."""
    if given is not None:
        yield given, bounds
        return
    refuse_bad_selection(settings, catalog, selection, bounds.max_calls)
    resumed = run_to_resume(settings, catalog, selection)

    def plan(rest: Bounds) -> Plan:
        return plan_catalog(settings, catalog, read_block, selection=selection, bounds=rest, beside=resumed)

    yield from runs_in_turn(settings, resumed, plan, bounds)


def runs_in_turn(
    settings: Settings, resumed: Plan | None, plan: Callable[[Bounds], Plan], bounds: Bounds
) -> Iterator[tuple[str, Bounds]]:
    results = results_for(settings)
    return unfinished.runs_in_turn(
        resumed, plan, bounds, lambda run_id: describe_run(results, run_id).calls_if_done, utc_now
    )


def resumable_since() -> datetime:
    return utc_now() - timedelta(days=RESUME_DAYS)


def forecast_for(
    settings: Settings, need: Need, service: ServiceStatus, bounds: Bounds, read_block: ReadBlock | None = None
) -> Forecast:
    """Forecast a run that begins now; without a key, the rate that it is known to get is not known."""
    rate = None
    with suppress(ConfigError, ResultsError):
        rate = remembered_rate(engine_for(settings, read_block))
    pace = settings.pace
    means = Means(
        headroom=service.headroom,
        reset=service.quota_reset,
        bounds=bounds,
        rate=rate,
        first_rate=pace.first_rate,
        workers=workers_that_fit(pace.workers, most_open_files()),
        ask_seconds=QUOTA_PROBE_SECONDS,
    )
    before = measured_legs(results_for(settings), settings.service.environment)
    return forecast(need, means, before, utc_now())
