"""Catalogs, from the settings and from what a command says beside them."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Literal

from proofsweep.config.load import Settings
from proofsweep.config.sections import CatalogSettings
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import CatalogError, ProofsweepError, RunMustStop
from proofsweep.domain.runs import INGEST, Plan
from proofsweep.sources.catalog import Catalog
from proofsweep.sources.files import Files
from proofsweep.sources.open_catalog import open_catalog
from proofsweep.sources.selection import ALL_ROWS, Selection
from proofsweep.store.known_rows import known_rows
from proofsweep.store.runs import RunIndex
from proofsweep.verify import plan as planning
from proofsweep.verify.credential_check import CredentialCheck
from proofsweep.verify.plan import UNSENT_KEY, Survey, refuse_hopeless, refuse_repeated
from proofsweep.wiring.engines import known_good_for, utc_now
from proofsweep.wiring.stores import results_for


def catalog_for(
    settings: Settings, location: str, selection: Selection = ALL_ROWS, *, is_checked: bool = True
) -> Catalog:
    """Open a catalog as the settings have it; what a selection says of a catalog goes first."""
    said = selection.settings_over(settings.catalog)
    return open_catalog(location, said, supplier_tag=settings.ingest.supplier_tag, is_checked=is_checked)


@contextmanager
def away_is_outage(settings: Settings) -> Iterator[None]:
    """Raise RunMustStop if a catalog that was verified before is not there or holds nothing: it may not be mounted."""
    try:
        yield
    except CatalogError as error:
        if error.catalog is None or not _was_verified(settings, error.catalog):
            raise
        message = f"{error.message}; earlier runs found files there: is it mounted?"
        raise RunMustStop(message, ended_by=EndedBy.BREAKER, catalog=error.catalog) from error


def _was_verified(settings: Settings, catalog: str) -> bool:
    with suppress(ProofsweepError):  # a store that cannot be read must not hide what is wrong with the catalog
        return bool(RunIndex(results_for(settings)).refreshed().plans(settings.service.environment, catalog))
    return False


def credential_check(settings: Settings, catalog: Catalog, selection: Selection) -> CredentialCheck | None:
    """Return what leaves out WAVs without a credential, if that is wanted; passes over folders ask for each file."""
    is_usual = settings.catalog.skip_without_credential and catalog.kind != INGEST
    if not is_usual and not selection.skip_without_credential:
        return None
    return CredentialCheck(Files(catalog.root))


def catalog_has_changed(settings: Settings, plan: Plan) -> bool:
    outside: Literal["deny", "allow"] = "allow" if plan.catalog_root is None else "deny"
    same_root = Selection(catalog=CatalogSettings(root=plan.catalog_root, outside=outside))
    return planning.catalog_has_changed(plan, lambda: catalog_for(settings, plan.catalog, same_root, is_checked=False))


def refuse_unsendable(settings: Settings, survey: Survey, catalog: Catalog, selection: Selection) -> None:
    """Refuse a run that could send nothing: a wrong setting, or of what is due only what could not be sent before."""
    known_good_for(settings)
    refuse_hopeless(survey, catalog)
    if selection.answered_since(utc_now()) is not None:
        results, environment = results_for(settings), settings.service.environment
        refuse_repeated(survey, catalog, partial(known_rows, results, environment, UNSENT_KEY))
