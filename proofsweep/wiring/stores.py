"""The results store and the key, from the settings; apart from what speaks to the service: a start is quick."""

from collections.abc import Callable
from pathlib import Path

from pydantic import SecretStr

from proofsweep.answers import meant_run as answers
from proofsweep.answers.meant_run import MeantRun
from proofsweep.errors import ConfigError
from proofsweep.files.locations import path_of, resolved_location
from proofsweep.partner.keys import KeySource, fingerprint, key_block, key_file, key_variable
from proofsweep.settings import ServiceSettings, Settings, environment
from proofsweep.store.key_bindings import check_key
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.store import open_store, probe
from proofsweep.verify.plan.cautions import cautions_of

ReadBlock = Callable[[str], str]
"""Reads a secret block of the orchestrator, which the core knows nothing of."""


def results_for(settings: Settings) -> Results:
    """Open the results store that the settings name."""
    return Results(open_store(settings.results.url))


def probed_store(settings: Settings) -> str:
    """See that the results store can be written, and return its URL; ResultsError if it cannot."""
    store = open_store(settings.results.url)
    probe(store)
    return store.url


def path_here(written: str) -> str:
    """Return the absolute path or bucket URL of a location as seen from this folder."""
    return path_of(written, str(Path.cwd()))


def place_here(written: str) -> str:
    """Return the same without links and `..`."""
    return resolved_location(path_here(written))


def meant_run(settings: Settings, run_id: str | None, catalog: str | None = None) -> MeantRun:
    """Return a run that is named; or the newest of a catalog; or of all catalogs the newest."""
    return answers.meant_run(results_for(settings), settings.service.environment, run_id, catalog)


def cautions_for(settings: Settings, catalog: str) -> list[str]:
    """Return what is unwise about a catalog's location and the results store; ResultsError if that cannot be read."""
    return cautions_of(results_for(settings), settings.service.environment, catalog)


def key_in_file(path: Path) -> SecretStr:
    """Read a key from a file; ConfigError if it holds none."""
    return key_file(path)()


def key_source(settings: Settings, read_block: ReadBlock | None) -> KeySource:
    """Read the key, but never one that belongs to another service (contract, Authentication 6)."""
    read, store = _key_source(settings.service, read_block), open_store(settings.results.url)

    def read_own() -> SecretStr:
        key = read()
        check_key(store, fingerprint(key), settings.service.base_url)
        return key

    return read_own


def _key_source(service: ServiceSettings, read_block: ReadBlock | None) -> KeySource:
    if service.api_key_file is not None:
        return key_file(service.api_key_file)
    if service.api_key_env is not None:
        return key_variable(service.api_key_env, environment())
    if service.api_key_block is not None and read_block is not None:
        return key_block(service.api_key_block, read_block)
    raise ConfigError("The settings do not say where the API key is kept (service.api_key_file, _env or _block).")
