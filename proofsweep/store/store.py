"""The port to a results store: small objects, each created once.

Only a leg's heartbeat and derived snapshots are ever replaced or lose their value; all other objects are immutable.
"""

import hashlib
import json
import secrets
from pathlib import Path
from typing import Protocol

from proofsweep.config.locations import BUCKET_SCHEMES, is_bucket, path_of
from proofsweep.domain.errors import CatalogError, NameTaken, ResultsError
from proofsweep.store.folder_store import FolderStore

# Requests of one process that wait for a bucket together.
REQUESTS_AT_ONCE = 16


class Store(Protocol):
    """A tree of objects with names like `verdicts/run_date=2026-11-20/a.parquet`."""

    @property
    def url(self) -> str:
        """Where it is, for a person; holds no credentials."""

    def path_of(self, name: str) -> Path | None:
        """Return where an object is a file of this machine, whether it is there or not; None in a bucket."""

    def create(self, name: str, content: bytes) -> None:
        """Make an object; a reader sees it whole or not at all. NameTaken if an object of that name exists."""

    def replace(self, name: str, content: bytes) -> None:
        """Make an object or overwrite it; a reader sees the old or the new one, whole."""

    def read(self, name: str) -> bytes | None: ...

    def names(self, folder: str) -> list[str]:
        """List the full names of the objects directly in a folder, sorted; none if it is missing."""

    def sizes(self, folder: str) -> dict[str, int]:
        """Return the sizes in bytes of the objects directly in a folder, by their full names."""

    def folders(self, folder: str, after: str = "") -> list[str]:
        """List the folders directly in a folder, by the last part of their names, sorted; those that sort after one."""

    def delete(self, name: str) -> None:
        """Delete an object; a missing one is no error."""

    def within(self, folder: str) -> "Store": ...


def open_store(url: str, called: str = "results store") -> Store:
    """Open the store at a folder's path, `file://` URL or bucket URL; nothing is made or requested yet.

    Messages call it so. ResultsError if the location is of another kind, or holds credentials.
    """
    scheme, has_scheme, _ = url.partition("://")
    if not has_scheme:
        return FolderStore(Path(url).expanduser().absolute(), called)
    if scheme == "file" or is_bucket(url):
        try:
            location = path_of(url, "/")
        except CatalogError as error:
            raise ResultsError(f"The {called} cannot be used: {error.message}.") from error
        if scheme == "file":
            return FolderStore(Path(location), called)
        from proofsweep.store.bucket_store import BucketStore  # noqa: PLC0415 - only for buckets, which few have

        return BucketStore(location, called=called)
    kinds = ", ".join(f"{each}://" for each in sorted(BUCKET_SCHEMES))
    raise ResultsError(f"A {called} at {scheme}:// is not supported; give a folder, or a URL of {kinds}.")


def probe(store: Store) -> None:
    """Create and delete a small object; if the folder does not exist yet, in the nearest folder above it.

    ResultsError if the store cannot be written, or overwrites existing objects.
    """
    probed = store
    if isinstance(store, FolderStore):
        path = Path(store.url)
        probed = FolderStore(next(each for each in (path, *path.parents) if each.exists()))
    name = f"_probe-{secrets.token_hex(8)}.json"
    probed.create(name, b"{}\n")
    try:
        probed.create(name, b"[]\n")
    except NameTaken:
        return
    finally:
        probed.delete(name)
    raise ResultsError(f"The results store {store.url} overwrites existing objects; a results store must refuse to.")


def damaged(store: Store, name: str, why: str = "") -> ResultsError:
    because = f": {why}" if why else ""
    return ResultsError(f"{name} in the results store {store.url} is damaged{because}. Restore it from a backup.")


def read_object(store: Store, name: str) -> dict[str, object] | None:
    """Read a JSON object; None if there is none of the name. ResultsError if it is not whole."""
    content = store.read(name)
    try:
        document = None if content is None else json.loads(content)
    except ValueError as damage:
        raise damaged(store, name, "it is not whole") from damage
    if content is not None and not isinstance(document, dict):
        raise damaged(store, name, "it is not whole")
    return document


def json_bytes(document: object) -> bytes:
    return json.dumps(document, indent=2, ensure_ascii=False, default=str).encode("utf-8", "replace") + b"\n"


def sha256_hex(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
