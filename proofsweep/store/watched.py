"""Which folders are watched for new files: each has a folder of its own inside the results store."""

import hashlib
import os
from collections.abc import Collection

from proofsweep.config.locations import is_bucket
from proofsweep.domain.items import raw_bytes
from proofsweep.store.objects import Store, open_store

# Inside the results store, so that one URL holds everything.
_FOLDER = "_ingest"


def ingest_store(results_url: str) -> Store:
    """Open the part of a results store in which watched folders and their claims are kept."""
    return open_store(f"{results_url.rstrip('/')}/{_FOLDER}")


def watched_ids(store: Store) -> list[str]:
    return store.folders("_runs")


def is_watched(location: str, ids: Collection[str], environments: Collection[str]) -> bool:
    """Whether a location is or lies in a watched folder, by its name or by where links lead; `ids` name the folders."""
    locations = {location, location if is_bucket(location) else os.path.realpath(location)}
    above = {
        "/".join(parts[: depth + 1]) for parts in (each.split("/") for each in locations) for depth in range(len(parts))
    }
    return any(watch_id(environment, folder) in ids for environment in environments for folder in above)


def watch_id(environment: str, watched: str) -> str:
    """Name a watched folder in the results store."""
    return hashlib.sha256(f"{environment}\0".encode() + raw_bytes(watched)).hexdigest()[:16]
