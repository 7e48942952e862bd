"""What it means that a catalog cannot be read or lists nothing: an outage if it was verified before, or a quiet day."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import CatalogError, EmptyCatalog, NothingDue, RunMustStop, UsageError
from proofsweep.store.parts import Results
from proofsweep.verify.emptied_folders import is_emptied


@contextmanager
def emptied_is_quiet(open_results: Callable[[], Results], environment: str) -> Iterator[None]:
    """Raise NothingDue in the place of EmptyCatalog if the catalog is a folder whose files passes move away."""
    try:
        yield
    except EmptyCatalog as error:
        is_ours = False
        with suppress(UsageError):  # a store that cannot be read must not hide what is wrong with the catalog
            is_ours = error.catalog is not None and is_emptied(open_results(), environment, error.catalog)
        if is_ours:
            raise NothingDue(f"{error.message}; passes move the files of this folder", skipped=0) from error
        raise


@contextmanager
def away_is_outage(open_results: Callable[[], Results], environment: str) -> Iterator[None]:
    """Raise RunMustStop if a catalog that was verified before is away or empty: it may not be mounted.

    NothingDue of a watched folder that passes have emptied.
    """
    try:
        with emptied_is_quiet(open_results, environment):
            yield
    except CatalogError as error:
        message = f"{error.message}; earlier runs found files there: is it mounted?"
        away = RunMustStop(message, ended_by=EndedBy.BREAKER, catalog=error.catalog)
        with suppress(UsageError):  # a store that cannot be read must not hide what is wrong with the catalog
            if error.catalog and open_results().log.runs().plans(environment, error.catalog):
                raise away from error
        raise
