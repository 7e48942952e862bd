"""What a person should know before a run: nothing here stops it."""

import os

from proofsweep.files.locations import is_bucket, is_within, one_line
from proofsweep.settings import Settings
from proofsweep.store.run_index import RunIndex
from proofsweep.wiring.stores import results_for

_KEEP_APART = "give each its own (results.url or --results)"


def cautions_for(settings: Settings, catalog: str) -> list[str]:
    """Say what is unwise about a catalog's location and a results store together.

    Raises:
        ResultsError: the store cannot be read.
    """
    store = results_for(settings).store
    cautions = []
    if _lies_in(store.url, catalog):
        cautions.append(
            f"The results store {one_line(store.url)} lies inside the catalog's folder, so each scan reads it too: "
            "choose a place beside it (results.url or --results)."
        )
    wanted = settings.service.environment
    runs = RunIndex(results_for(settings)).refreshed().newest_first()
    others = sorted({run.plan.environment for run in runs} - {wanted}) if store.folders("_runs") else []
    if others:
        cautions.append(
            f"The results store {one_line(store.url)} holds runs of {', '.join(map(one_line, others))} too; queries "
            f"over all its tables mix them with those of {one_line(wanted)}: {_KEEP_APART}."
        )
    return cautions


def _lies_in(store: str, catalog: str) -> bool:
    if is_bucket(store) or is_bucket(catalog):
        return is_bucket(catalog) and is_within(store, catalog.rstrip("/"))
    return os.path.isdir(catalog) and is_within(os.path.realpath(store), os.path.realpath(catalog))  # noqa: PTH112 - text
