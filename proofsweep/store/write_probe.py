"""Check that a results store can be written, and leave it unchanged."""

import secrets
from pathlib import Path

from proofsweep.errors import NameTaken, ResultsError
from proofsweep.store.folder_store import FolderStore
from proofsweep.store.store import Store


def probe(store: Store) -> None:
    """Create and delete a small object; if the folder does not exist yet, in the nearest folder above it.

    Raises:
        ResultsError: the store cannot be written, or overwrites existing objects.
    """
    place = FolderStore(_nearest_folder(Path(store.url))) if isinstance(store, FolderStore) else store
    name = f"_probe-{secrets.token_hex(8)}.json"
    place.create(name, b"{}\n")
    try:
        place.create(name, b"[]\n")
    except NameTaken:
        return
    finally:
        place.delete(name)
    raise ResultsError(f"The results store {store.url} overwrites existing objects; a results store must refuse to.")


def _nearest_folder(path: Path) -> Path:
    """Give the path itself if it exists, else the nearest folder above it."""
    return next((place for place in (path, *path.parents) if place.exists()), path)
