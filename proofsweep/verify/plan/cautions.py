"""What is unwise about a catalog's location and a results store together."""

import os

from proofsweep.files.locations import is_bucket, is_within, one_line
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.run_index import RunIndex

_KEEP_APART = "give each its own (results.url or --results)"


def cautions_of(results: Results, environment: str, catalog: str) -> list[str]:
    """Return what is unwise about a catalog's location and a results store together.

    Raises:
        ResultsError: the store cannot be read.
    """
    store = results.store
    cautions = []
    if _lies_in(store.url, catalog):
        cautions.append(
            f"The results store {one_line(store.url)} lies inside the catalog's folder, so each scan reads it too: "
            "choose a place beside it (results.url or --results)."
        )
    runs = RunIndex(results).refreshed().newest_first()
    others = sorted({run.plan.environment for run in runs} - {environment}) if store.folders("_runs") else []
    if others:
        cautions.append(
            f"The results store {one_line(store.url)} holds runs of {', '.join(map(one_line, others))} too; queries "
            f"over all its tables mix them with those of {one_line(environment)}: {_KEEP_APART}."
        )
    return cautions


def _lies_in(store: str, catalog: str) -> bool:
    if is_bucket(store) or is_bucket(catalog):
        return is_bucket(catalog) and is_within(store, catalog.rstrip("/"))
    return os.path.isdir(catalog) and is_within(os.path.realpath(store), os.path.realpath(catalog))  # noqa: PTH112 - text
