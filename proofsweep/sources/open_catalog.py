"""Open what is to be verified: the first kind of catalog that is found at a location."""

import glob
import os
import posixpath
import sys
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from proofsweep.config.locations import (
    hint_for,
    is_bucket,
    one_line,
    path_of,
    path_within,
    resolved_location,
    root_and_key,
    shown,
)
from proofsweep.config.sections import ANYWHERE, USUAL_CATALOG, CatalogSettings
from proofsweep.domain.errors import CatalogError, EmptyCatalog, SourceError
from proofsweep.domain.items import utf8_text
from proofsweep.domain.tags import checksums_of
from proofsweep.sources.audio import is_audio
from proofsweep.sources.catalog import Catalog, CatalogBase, refusal
from proofsweep.sources.ddex_message import examine, is_xml_name
from proofsweep.sources.file_kinds import words_for, words_for_ending
from proofsweep.sources.files import Files
from proofsweep.sources.folder import FolderScan
from proofsweep.sources.manifest import Manifests
from proofsweep.sources.names import ListingRule, is_audio_name
from proofsweep.sources.parts import parts_of
from proofsweep.sources.readers import is_manifest_name
from proofsweep.sources.source import buffered

if TYPE_CHECKING:
    from proofsweep.sources.bucket import BucketFiles

_OPEN_IN_EXCEL = "~$"  # begins the name of a file that Excel keeps beside a workbook while it is open


def open_catalog(
    location: str,
    settings: CatalogSettings = USUAL_CATALOG,
    *,
    is_checked: bool = True,  # a manifest must have a first row with its columns; its digest needs none
) -> Catalog:
    """Open a catalog: a path or URL of a manifest, a DDEX message, a folder or prefix, or a glob of manifests.

    It is relative to the working folder. CatalogError, in one line that says what to do, if it cannot be read.
    """
    if not location:
        raise CatalogError("the catalog's location is empty")
    if (encoding := sys.getfilesystemencoding()) != "utf-8":  # the command line starts again in UTF-8 by itself
        raise CatalogError(
            f"file names would be read as {encoding} and stored wrongly: set PYTHONUTF8=1 for this process"
        )
    here = str(Path.cwd())
    path = CatalogBase(here).without_dots(path_of(location, here))
    is_confined = settings.root != ANYWHERE
    root = path_of(settings.root, here) if is_confined and settings.root is not None else None
    if root is not None and not is_bucket(root) and not posixpath.isdir(root):
        raise CatalogError(f"{one_line(root)}: the catalog's root is no folder", catalog=utf8_text(path))
    checksums = checksums_of(settings.checksums, lambda each: resolved_location(path_of(each, here)))
    files = Files(rule=ListingRule(settings.exclude))
    try:
        folder, paths, parts = _found_at(path, location, files)
    except SourceError as error:
        raise refusal(path, error.message) from error
    for each in paths:
        if each not in parts:
            _must_be_manifest(each, files)
    base = CatalogBase(folder, root=root, name=settings.name, is_confined=is_confined)
    within = files.within(base.boundary)
    settings = settings.model_copy(update={"checksums": checksums})
    if not paths:
        return FolderScan(folder, within, settings, base)
    manifests = Manifests(path, paths, within, base, settings=settings, parts=parts)
    if is_checked:
        manifests.check()
    return manifests


def _found_at(path: str, location: str, files: Files) -> tuple[str, Sequence[str], Mapping[str, str]]:
    """Return the folder of what is at a path, and its manifests if it is of them; a message stands for its folder.

    Of a manifest that is a folder, its parts are given, and the folder of each.

    What exists goes before a pattern. CatalogError if it cannot be used, as `location` if nothing is there; SourceError
    if a file or bucket cannot be read.
    """
    folder = posixpath.dirname(path)
    if is_xml_name(path) and (found := examine(path, files)) is not None and (found.is_message or found.is_completion):
        return folder, (), {}
    if _is_file(path, files):
        return folder, (path,), {}
    if _is_folder(path, files):
        plain = path.rstrip("/") or path
        if (other := words_for_ending(plain)) is not None and plain.lower().endswith(".numbers"):
            raise CatalogError(f"{one_line(path)}: no manifest: this is {other}")
        paths = parts_of(plain, files)
        if not paths:
            return plain, (), {}
        return posixpath.dirname(plain), paths, dict.fromkeys(paths, plain)
    if not glob.has_magic(root_and_key(path)[1] if is_bucket(path) else path):
        kind, what = CatalogError, f"file or folder{hint_for(location)}"
        if is_bucket(path):
            kind, what = EmptyCatalog, "object, and none below it"
        raise kind(f"{shown(location, path)}: there is no such {what}", catalog=utf8_text(path.rstrip("/")))
    folder, matches = matches_of(path, files.buckets) if is_bucket(path) else _local_matches(path)
    matches = [each for each in matches if not posixpath.basename(each).startswith(_OPEN_IN_EXCEL)]
    if not matches:
        raise refusal(path, "no manifest matches")
    lists: list[str] = []
    of_folders: dict[str, str] = {}
    for each in matches:
        is_folder = not is_bucket(each) and posixpath.isdir(each)
        parts = parts_of(each, files) if is_folder else []
        of_folders.update(dict.fromkeys(parts, each))
        lists += parts or [each]
    return folder, lists, of_folders


def _is_file(path: str, files: Files) -> bool:
    if not is_bucket(path):
        return posixpath.lexists(path) and not posixpath.isdir(path)
    # With GET: a store explains an error in the body, and the answer to HEAD has none.
    if path.endswith("/") or (file := files.open(path)) is None:
        return False
    file.close()
    return True


def _is_folder(path: str, files: Files) -> bool:
    if is_bucket(path):
        bad: set[str] = set()
        return next(files.buckets.listed(path, bad=bad), None) is not None or bool(bad)
    if not posixpath.isdir(path):
        return False
    try:
        os.scandir(path).close()
    except OSError as error:
        raise refusal(path, f"the folder cannot be read: {error.strerror}") from error
    return True


def _local_matches(path: str) -> tuple[str, list[str]]:
    """Take the deepest existing folder of a pattern literally, since brackets are common in names of folders."""
    folder = posixpath.dirname(path)
    while not posixpath.isdir(folder):
        folder = posixpath.dirname(folder)
    matches = glob.glob(path_within(path, folder), root_dir=folder, recursive=True)  # noqa: PTH207 -- of text
    return folder, [posixpath.join(folder, match) for match in sorted(matches, key=os.fsencode)]


def matches_of(url: str, files: "BucketFiles") -> tuple[str, list[str]]:
    """Return the prefix before the last part of a URL, and the URLs in it that match this part, sorted.

    As in a shell, a hidden name matches only a pattern that begins with a dot.
    """
    folder, _, pattern = url.rpartition("/")
    shown = (name for name in files.in_folder(folder) if pattern.startswith(".") or not name.startswith("."))
    return folder, sorted(f"{folder}/{name}" for name in shown if fnmatchcase(name, pattern))


def _must_be_manifest(path: str, files: Files) -> None:
    try:
        file = files.open(path)
        if file is None:
            raise refusal(path, "the link leads to nothing")
        with buffered(file) as content:
            is_one_file = is_audio_name(path) or is_audio(file)
            content.seek(0)
            other = words_for(content) or words_for_ending(path)
    except SourceError as error:
        raise refusal(path, f"no catalog. {error.message}") from error
    if is_manifest_name(path):
        return
    if is_one_file:
        raise CatalogError(f"{one_line(path)}: this is one audio file; verify it with: proofsweep check AUDIO")
    if other is not None:
        raise CatalogError(f"{one_line(path)}: no manifest: this is {other}")
    endings = ".csv, .tsv, .txt (with columns), .xlsx, .jsonl, .ndjson or .parquet, or .gz of these"
    raise CatalogError(f"{one_line(path)}: no manifest; these end in {endings}")
