"""The results store, wired; apart from all that speaks to the service, so that reading a store starts quickly."""

from proofsweep.settings import Settings
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.store import open_store


def results_for(settings: Settings) -> Results:
    """Open the results store that the settings name."""
    return Results(open_store(settings.results.url))
