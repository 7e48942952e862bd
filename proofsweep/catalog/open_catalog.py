"""Open what is to be verified: a manifest, a glob of manifests or a folder, on this machine or in a bucket."""

import glob
import os
import posixpath
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from proofsweep.catalog.catalog import Catalog
from proofsweep.catalog.folder_scan import FolderScan, is_audio_name
from proofsweep.catalog.manifest_formats import is_manifest_name
from proofsweep.catalog.manifests import Manifests
from proofsweep.catalog.pairing import SidecarNames
from proofsweep.catalog.row_facts import Place
from proofsweep.errors import CatalogError, EmptyCatalog, SourceError
from proofsweep.files.audio import is_audio
from proofsweep.files.files import Files
from proofsweep.files.locations import hint_for, is_bucket, one_line, path_of, path_within, root_and_key

if TYPE_CHECKING:
    from proofsweep.files.bucket_files import BucketFiles


def matches_of(url: str, files: "BucketFiles") -> tuple[str, list[str]]:
    """Return the deepest folder that the pattern names literally, and the URLs below it that match, sorted.

    Raises:
        SourceError: the folder cannot be listed.
    """
    folder = url.rpartition("/")[0]
    while glob.has_magic(root_and_key(folder)[1]) and next(files.listed(folder), None) is None:
        folder = folder.rpartition("/")[0]
    root, _ = root_and_key(url)
    patterns = path_within(url, folder).split("/")
    urls = (f"{root}/{key}" for key, _ in files.listed(folder))
    return folder, sorted(each for each in urls if _is_match(path_within(each, folder).split("/"), patterns))


def _is_match(parts: Sequence[str], patterns: Sequence[str]) -> bool:
    """Compare part by part; as in a shell, a hidden name matches only a pattern that begins with a dot."""
    if not patterns or not parts:
        return not parts and all(pattern == "**" for pattern in patterns)
    pattern, *more = patterns
    if pattern == "**" and _is_match(parts, more):
        return True
    if parts[0].startswith(".") and not pattern.startswith("."):
        return False
    return _is_match(parts[1:], patterns if pattern == "**" else more) if fnmatchcase(parts[0], pattern) else False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """The options of `open_catalog`."""

    sidecar_names: Sequence[str]
    root: str | None
    is_confined: bool
    name: str | None


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
    here, files = str(Path.cwd()), Files()
    path = path_of(location, here)
    if root is not None:
        root = _existing_root(path_of(root, here))
    options = _Options(sidecar_names=sidecar_names, root=root, is_confined=is_confined, name=name)
    if is_bucket(path):
        return _in_bucket(path, files, options)
    if posixpath.isdir(path):
        return _folder(path, files, options)
    if posixpath.lexists(path):
        return _manifests(path, posixpath.dirname(path), [path], files, options)
    if glob.has_magic(path):
        return _globbed(path, files, options)
    raise CatalogError(f"{one_line(path)}: there is no such file or folder{hint_for(location)}")


def _existing_root(path: str) -> str:
    if not is_bucket(path) and not posixpath.isdir(path):
        raise CatalogError(f"{one_line(path)}: the catalog's root is no folder")
    return path


def _in_bucket(url: str, files: Files, options: _Options) -> Catalog:
    """Try the URL as an object, then as a prefix, then as a pattern."""
    try:
        if not url.endswith("/") and _is_object(url, files):
            return _manifests(url, posixpath.dirname(url), [url], files, options)
        if next(files.buckets.listed(url), None) is not None:
            return _scan(url.rstrip("/"), files, options)
        if glob.has_magic(root_and_key(url)[1]):
            folder, urls = matches_of(url, files.buckets)
            return _manifests(url, folder, urls, files, options)
    except SourceError as error:
        raise CatalogError(f"{one_line(url)}: {error.message}") from error
    raise EmptyCatalog(f"{one_line(url)}: there is no such object, and none below it")


def _is_object(url: str, files: Files) -> bool:
    """Ask with GET: a store explains an error in the body, and the answer to HEAD has none."""
    file = files.open(url)
    if file is not None:
        file.close()
    return file is not None


def _folder(path: str, files: Files, options: _Options) -> FolderScan:
    try:
        os.scandir(path).close()
    except OSError as error:
        raise CatalogError(f"{one_line(path)}: the folder cannot be read: {error.strerror}") from error
    return _scan(path, files, options)


def _scan(path: str, files: Files, options: _Options) -> FolderScan:
    place = _place(path, options)
    return FolderScan(path, files.within(place.boundary), SidecarNames(options.sidecar_names), place)


def _place(folder: str, options: _Options) -> Place:
    return Place.of(folder, root=options.root, name=options.name, is_confined=options.is_confined)


def _globbed(path: str, files: Files, options: _Options) -> Manifests:
    """Take the deepest existing folder of a pattern literally, since brackets are common in names of folders."""
    folder = posixpath.dirname(path)
    while not posixpath.isdir(folder):
        folder = posixpath.dirname(folder)
    matches = glob.glob(path_within(path, folder), root_dir=folder, recursive=True)  # noqa: PTH207 -- of text
    matches.sort(key=os.fsencode)
    return _manifests(path, folder, [posixpath.join(folder, match) for match in matches], files, options)


def _manifests(location: str, folder: str, paths: Sequence[str], files: Files, options: _Options) -> Manifests:
    if not paths:
        raise CatalogError(f"{one_line(location)}: no manifest matches")
    for path in paths:
        _must_be_manifest(path, files)
    place = _place(folder, options)
    manifests = Manifests(location, folder, paths, files.within(place.boundary), place)
    manifests.check()
    return manifests


def _must_be_manifest(path: str, files: Files) -> None:
    try:
        file = files.open(path)
        if file is None:
            raise CatalogError(f"{one_line(path)}: the link leads to nothing")
        with file:
            is_one_file = is_audio_name(path) or is_audio(file)
    except SourceError as error:
        raise CatalogError(f"{one_line(path)}: no catalog. {error.message}") from error
    if is_manifest_name(path):
        return
    if is_one_file:
        raise CatalogError(f"{one_line(path)}: this is one audio file; verify it with: proofsweep check AUDIO")
    raise CatalogError(
        f"{one_line(path)}: no manifest; these end in .csv, .tsv, .jsonl, .ndjson or .parquet, or .gz of these"
    )
