"""Catalogs, from the settings and from what a command says beside them."""

from proofsweep.catalog.catalog import Catalog
from proofsweep.catalog.open_catalog import open_catalog
from proofsweep.model.reading import Reading, path_maps_of
from proofsweep.model.runs import Plan
from proofsweep.model.selection import ALL_ROWS, Selection
from proofsweep.settings import Settings
from proofsweep.settings.catalog_settings import CatalogSettings
from proofsweep.verify.plan import plan_run as planning


def catalog_for(
    settings: Settings, location: str, selection: Selection = ALL_ROWS, *, is_checked: bool = True
) -> Catalog:
    """Open a catalog as the settings have it; the root of a selection, and what else it says of a catalog, go first."""
    given = settings.catalog
    return open_catalog(
        location,
        sidecar_names=given.sidecar_names,
        root=selection.root or given.root,
        is_confined=not selection.allow_outside and given.outside == "deny",
        name=given.name,
        reading=selection.reading.over(_usual_reading(given)),
        is_checked=is_checked,
    )


def _usual_reading(given: CatalogSettings) -> Reading:
    return Reading(
        columns=given.columns, path_maps=path_maps_of(given.path_map), encoding=given.encoding, sheet=given.sheet
    )


def catalog_has_changed(settings: Settings, plan: Plan) -> bool:
    """Return whether the catalog is not what it was when the run was planned."""
    same_root = Selection(root=plan.catalog_root, allow_outside=plan.catalog_root is None)
    return planning.catalog_has_changed(plan, lambda: catalog_for(settings, plan.catalog, same_root, is_checked=False))
