"""Tell somebody when a run cannot begin, before there is a flow that could."""

from collections.abc import Iterator
from contextlib import contextmanager

from proofsweep.config.load import Settings
from proofsweep.domain.errors import NothingDue, RunMustStop
from proofsweep.wiring.catalogs import away_is_outage
from proofsweep.wiring.watching import tell_of_return, tell_of_stop
from proofsweep_cli.key_block import read_block
from proofsweep_cli.screen import print_error


@contextmanager
def stop_told(settings: Settings, catalog: str | None) -> Iterator[None]:
    """Tell those whom the settings name of what stops the work with a catalog, such as that it is away."""
    try:
        with away_is_outage(settings):
            yield
    except NothingDue:
        for line in tell_of_return(settings, catalog or "", read_block):
            print_error(line)
        raise
    except RunMustStop as stop:
        for line in tell_of_stop(settings, stop, catalog, read_block):
            print_error(line)
        raise
