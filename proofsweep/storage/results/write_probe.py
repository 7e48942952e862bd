"""See whether a results store can be written, and leave it as it was."""

import secrets
from pathlib import Path

from proofsweep.errors import NameTaken, ResultsError
from proofsweep.storage.results.folder_store import FolderStore
from proofsweep.storage.results.store import Store


def probe(store: Store) -> None:
    """Create a small object and take it away again; where the folder does not exist yet, in the one that would hold it.

    Raises:
        ResultsError: the store cannot be written, or writes over what is there.
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
    raise ResultsError(
        f"The results store {store.url} writes over objects that are there; results need one that does not."
    )


def _nearest_folder(path: Path) -> Path:
    """Give the path itself if something is there, else the nearest folder above it."""
    return next((place for place in (path, *path.parents) if place.exists()), path)
