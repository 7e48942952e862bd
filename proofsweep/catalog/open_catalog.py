"""Open what is to be verified: the first kind of catalog that finds itself at a location."""

import posixpath
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from proofsweep.catalog.catalog import Catalog, CatalogKind, CatalogOptions
from proofsweep.catalog.folder_scan import FolderScan
from proofsweep.catalog.manifest_files import ManifestFile, ManifestGlob
from proofsweep.errors import CatalogError, EmptyCatalog, SourceError
from proofsweep.files.locations import hint_for, is_bucket, one_line, path_of

KINDS: Final[Sequence[CatalogKind]] = (ManifestFile, FolderScan, ManifestGlob)
"""All kinds that a location may name; one that exists goes before a pattern."""


def open_catalog(
    location: str,
    *,
    sidecar_names: Sequence[str],
    root: str | None = None,
    is_confined: bool = True,
    name: str | None = None,
) -> Catalog:
    """Open a catalog: a path, `file://` URL or bucket URL of a manifest, a folder or prefix, or a glob of manifests.

    Args:
        location: relative to the working folder. a path that exists is not read as a glob.
        sidecar_names: the patterns by which a folder's sidecars are found; a manifest names its own.
        root: the folder or prefix by which files are named; by default the catalog's own, or the manifest's folder.
        is_confined: whether rows that lead out of the root are ineligible.
        name: stands for the catalog in item IDs; by default the last part of the root.

    Raises:
        CatalogError: it cannot be read as a catalog; one line, which says what to do.
    """
    if not location:
        raise CatalogError("the catalog's location is empty")
    here = str(Path.cwd())
    path = path_of(location, here)
    if root is not None:
        root = _existing_root(path_of(root, here))
    options = CatalogOptions(sidecar_names=sidecar_names, root=root, is_confined=is_confined, name=name)
    try:
        found = next((each for kind in KINDS if (each := kind.found_at(path, options)) is not None), None)
    except SourceError as error:
        raise CatalogError(f"{one_line(path)}: {error.message}") from error
    if found is not None:
        return found
    if is_bucket(path):
        raise EmptyCatalog(f"{one_line(path)}: there is no such object, and none below it")
    raise CatalogError(f"{one_line(path)}: there is no such file or folder{hint_for(location)}")


def _existing_root(path: str) -> str:
    if not is_bucket(path) and not posixpath.isdir(path):
        raise CatalogError(f"{one_line(path)}: the catalog's root is no folder")
    return path
