"""Runs, wired: from settings to a catalog, a results store and a plan."""

from contextlib import suppress
from itertools import chain

from tzlocal import get_localzone

from proofsweep.catalog.catalog import Catalog
from proofsweep.catalog.open_catalog import open_catalog
from proofsweep.errors import CatalogError, NothingDue, ResultsError
from proofsweep.files.locations import is_bucket, resolved_location
from proofsweep.model.run_records import OUTCOMES
from proofsweep.model.runs import INGEST, PARTIAL_KINDS, Plan
from proofsweep.model.tables.snapshot import ANSWERED
from proofsweep.settings import Settings
from proofsweep.store.claims import CatalogClaims
from proofsweep.store.known_rows import AnswerTimes, HashedItems
from proofsweep.store.store import probe
from proofsweep.verify.budget.bounds import Bounds, closing_of
from proofsweep.verify.leg.canaries import Canary, read_canaries
from proofsweep.verify.leg.leg_context import RemainingItems
from proofsweep.verify.leg.leg_session import settle_last_leg
from proofsweep.verify.leg.note_leg import note_run
from proofsweep.verify.plan.coverage import Coverage
from proofsweep.verify.plan.due_rows import DueRows
from proofsweep.verify.plan.plan_run import PlanRequest, plan_run
from proofsweep.verify.plan.selection import ALL_ROWS, Selection
from proofsweep.verify.plan.survey import Survey, refuse_hopeless
from proofsweep.wiring.engines import ReadBlock, engine_for, limits_for, utc_now
from proofsweep.wiring.stores import results_for


def bounds_for(
    settings: Settings,
    *,
    reserve: int | None = None,
    max_calls: int | None = None,
    until: str | None = None,
    max_duration: str | None = None,
) -> Bounds:
    """Return the bounds of a leg that begins now: what is not given is as in the settings.

    A given time, `until` or `max_duration`, replaces both times of the settings. So a window that is printed once and
    given on as `until` stays the same.

    Raises:
        UsageError: a time cannot be read.
    """
    usual = settings.bounds
    if until is None and max_duration is None:
        until, max_duration = usual.until, usual.max_duration
    return Bounds(
        reserve=usual.reserve if reserve is None else reserve,
        max_calls=usual.max_calls if max_calls is None else max_calls,
        closes_at=closing_of(until, max_duration, utc_now(), get_localzone()),
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
    """Plan a run of a catalog, or of chosen rows: its shards and its plan are written, if it can be begun.

    Args:
        settings: of the run.
        catalog: its location.
        read_block: reads a secret block of the orchestrator.
        selection: which rows.
        bounds: of the leg that begins then; None as in the settings.
        after: a run that has just ended; what it planned is not due.
        beside: an unfinished run; what remains of it is not due.

    Raises:
        RunIsActive: a run of the catalog is worked on.
        NothingDue: no row is due; nothing was written.
        CatalogError, ConfigError, ResultsError, RunMustStop, UsageError: it cannot be planned; nothing was written.
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
    """Open a catalog with just the rows that are chosen; the arguments are those of `plan_catalog`.

    Raises:
        CatalogError, UsageError: the catalog, or the condition on its rows, cannot be read.
    """
    whole = catalog_for(settings, catalog, selection)
    if selection.is_of_all_rows and after is None and beside is None:
        return whole
    return _due_rows(settings, whole, selection, max_calls=max_calls, after=after, beside=beside)


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
    """Do the same for a catalog that is open already.

    Raises:
        RunIsActive: a run of the catalog is worked on; nothing was written.
        CatalogError, ConfigError, ResultsError, RunMustStop: it cannot be planned; nothing was written.
    """
    engine, results, identity = engine_for(settings, read_block), results_for(settings), identity_of(settings, catalog)
    claims = CatalogClaims(results, settings.service.environment, identity)
    claim = None if catalog.kind == INGEST else claims.last_inactive()

    def refuse_if_hopeless(survey: Survey) -> None:
        refuse_hopeless(survey, catalog)
        canaries_for(settings)
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
        before_writing=refuse_if_hopeless,
        run_id=run_id,
    )
    plan = plan_run(request, results, utc_now())
    note_run(results, plan)
    return plan


def coverage_for(settings: Settings, catalog: str | None, selection: Selection) -> Coverage | None:
    """List a catalog, and count its rows that have a young answer: those that a plan of the due rows leaves out.

    It is None without a catalog or an age.

    Raises:
        CatalogError, ResultsError, UsageError: the catalog, the answers or the span cannot be read.
    """
    if catalog is None or selection.max_age is None:
        return None
    rows = _due_rows(settings, catalog_for(settings, catalog, selection), Selection(max_age=selection.max_age))
    due = 0
    with suppress(NothingDue):
        due = sum(1 for _ in rows.rows())
    return Coverage(rows=due + rows.skipped, answered=rows.skipped, max_age=selection.max_age)


def _due_rows(
    settings: Settings,
    listing: Catalog,
    selection: Selection,
    *,
    max_calls: int | None = None,
    after: Plan | None = None,
    beside: Plan | None = None,
) -> DueRows:
    results, environment = results_for(settings), settings.service.environment
    elsewhere = chain(
        () if after is None else results.items(after),
        () if beside is None else RemainingItems(results, beside).all_items(),
    )
    return DueRows(
        listing,
        selection,
        answered_at=AnswerTimes(results, environment, ANSWERED).of,
        tried_at=AnswerTimes(results, environment, OUTCOMES).of,
        now=utc_now(),
        max_calls=max_calls,
        planned=HashedItems((item.item_id, item.audio_version, item.sidecar_version) for item in elsewhere),
    )


def identity_of(settings: Settings, catalog: Catalog) -> str:
    """Return what the runs of one catalog have in common: its name in the settings, else its location without links.

    A completion report is a part of the catalog of its run.
    """
    if settings.catalog.name is not None:
        return settings.catalog.name
    with suppress(ResultsError):  # the run is of another store
        if catalog.reported_run is not None:
            return results_for(settings).plan(catalog.reported_run).identity
    return resolved_location(catalog.location)


def catalog_for(settings: Settings, location: str, selection: Selection = ALL_ROWS) -> Catalog:
    """Open a catalog as the settings have it; the root of a selection, and the leave to lead out of it, go before them.

    Raises:
        CatalogError: it cannot be read as a catalog.
    """
    given = settings.catalog
    return open_catalog(
        location,
        sidecar_names=given.sidecar_names,
        root=selection.root or given.root,
        is_confined=not selection.allow_outside and given.outside == "deny",
        name=given.name,
    )


def canaries_for(settings: Settings) -> list[Canary]:
    """Read the canaries that the settings name, if they do; CatalogError or ConfigError if they cannot be used."""
    location = settings.canary.manifest
    if location is None:
        return []
    manifest = open_catalog(location, sidecar_names=settings.catalog.sidecar_names, is_confined=False)  # one's own
    return read_canaries(manifest, limits_for(settings))


def catalog_has_changed(settings: Settings, plan: Plan) -> bool:
    """Return whether the catalog is not what it was when the run was planned; one that is gone has changed too.

    The files of an ingest pass or of a redrive are a part of their catalog; each is compared with its plan when read.
    """
    root = plan.catalog_root
    try:
        return plan.catalog_kind not in PARTIAL_KINDS and (
            catalog_for(settings, plan.catalog, Selection(root=root, allow_outside=root is None)).digest()
            != plan.catalog_digest
        )
    except CatalogError:
        return True


def settle_dead_leg(settings: Settings, run_id: str) -> None:
    """Settle the last leg of a run if its process is gone.

    Raises:
        RunIsActive: the last leg is alive.
        ResultsError: there is no such run.
    """
    results = results_for(settings)
    settle_last_leg(results, results.plan(run_id), utc_now)
