"""The results store, from the settings; apart from what speaks to the service, so that reading it starts quickly."""

from pathlib import Path

from proofsweep.config.load import Settings
from proofsweep.config.locations import path_of, resolved_location
from proofsweep.domain.runs import Plan
from proofsweep.queries import status
from proofsweep.store.objects import open_store, probe
from proofsweep.store.parts import Results


def results_for(settings: Settings) -> Results:
    return Results(open_store(settings.results.url))


def probed_store(settings: Settings) -> str:
    """See that the results store can be written, and return its URL; ResultsError if it cannot."""
    store = open_store(settings.results.url)
    probe(store)
    return store.url


def path_here(written: str) -> str:
    """Return the absolute path or bucket URL of a location as seen from this folder."""
    return path_of(written, str(Path.cwd()))


def resolved_here(written: str) -> str:
    """Return the same without links and `..`."""
    return resolved_location(path_here(written))


def meant_run(settings: Settings, run_id: str | None, catalog: str | None = None) -> tuple[Plan, str | None]:
    return status.meant_run(results_for(settings), settings.service.environment, run_id, catalog)


def cautions_for(settings: Settings, catalog: str) -> list[str]:
    """Return what is unwise about a catalog's location and the results store; ResultsError if that cannot be read."""
    from proofsweep.verify.plan import cautions_of  # noqa: PLC0415 - what reads a store starts without it

    return cautions_of(results_for(settings), settings.service.environment, catalog)
