"""Open what is to be verified: the first kind of catalog that is found at a location."""

import posixpath
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from proofsweep.config.locations import (
    hint_for,
    one_line,
    path_of,
    resolved_location,
    shown,
)
from proofsweep.config.sections import ANYWHERE, USUAL_CATALOG, CatalogSettings
from proofsweep.domain.errors import CatalogError, EmptyCatalog, SourceError
from proofsweep.domain.items import utf8_text
from proofsweep.domain.tags import checksums_of
from proofsweep.files.audio import is_audio
from proofsweep.files.files import Files, kind_of
from proofsweep.files.folder_listing import ListingRule
from proofsweep.files.names import is_audio_name
from proofsweep.files.open_file import buffered
from proofsweep.files.presence import is_gone
from proofsweep.sources.catalog import Catalog, CatalogBase, refusal
from proofsweep.sources.ddex_message import examine, is_xml_name
from proofsweep.sources.file_kinds import words_for, words_for_ending
from proofsweep.sources.folder import FolderScan
from proofsweep.sources.manifest import Manifests
from proofsweep.sources.parts import parts_of
from proofsweep.sources.readers import is_manifest_name

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
    encoding = sys.getfilesystemencoding()
    if encoding != "utf-8":  # the command line starts again in UTF-8 by itself
        raise CatalogError(
            f"file names would be read as {encoding} and stored wrongly: set PYTHONUTF8=1 for this process"
        )
    here = str(Path.cwd())
    path = CatalogBase(here).without_dots(path_of(location, here))
    is_confined = settings.root != ANYWHERE
    root = None
    if is_confined and settings.root is not None:
        root = path_of(settings.root, here)
        _require_folder(root, path)
    checksums = checksums_of(settings.checksums, lambda written: resolved_location(path_of(written, here)))
    settings = settings.model_copy(update={"checksums": checksums})
    files = Files(rule=ListingRule(settings.exclude))
    try:
        folder, paths, parts = _found_at(path, location, files)
    except SourceError as error:
        raise refusal(path, error.message) from error
    for manifest in paths:
        if manifest not in parts:
            _must_be_manifest(manifest, files)
    base = CatalogBase(folder, root=root, name=settings.name, is_confined=is_confined)
    within = files.within(base.boundary)
    if not paths:
        return FolderScan(folder, within, settings, base)
    manifests = Manifests(path, paths, within, base, settings=settings, parts=parts)
    if is_checked:
        manifests.check()
    return manifests


def _require_folder(root: str, path: str) -> None:
    if is_gone(root):
        raise CatalogError(f"{one_line(root)}: the catalog's root is no folder", catalog=utf8_text(path))


def _found_at(path: str, location: str, files: Files) -> tuple[str, Sequence[str], Mapping[str, str]]:
    """Return the folder of what is at a path, its manifests, and of manifests that are folders each part's folder.

    A message stands for its folder. What exists goes before a pattern. CatalogError if it cannot be used; SourceError
    if a file or bucket cannot be read.
    """
    folder = posixpath.dirname(path)
    if is_xml_name(path) and _is_delivery(path, files):
        return folder, (), {}
    if files.is_file(path):
        return folder, (path,), {}
    if files.is_folder(path):
        return _in_folder(path, files)
    matched = files.matches(path)
    if matched is None:
        raise _nothing_there(path, location)
    folder, matches = matched
    lists: list[str] = []
    of_folders: dict[str, str] = {}
    for match, is_folder in matches:
        if posixpath.basename(match).startswith(_OPEN_IN_EXCEL):
            continue
        parts = list[str]()
        if is_folder:
            parts = parts_of(match, files)
        of_folders.update(dict.fromkeys(parts, match))
        lists += parts or [match]
    if not lists:
        raise refusal(path, "no manifest matches")
    return folder, lists, of_folders


def _is_delivery(path: str, files: Files) -> bool:
    file = examine(path, files)
    return file is not None and (file.is_message or file.is_completion)


def _in_folder(path: str, files: Files) -> tuple[str, Sequence[str], Mapping[str, str]]:
    plain = path.rstrip("/") or path
    # Apple Numbers may keep a table as a folder.
    kind = words_for_ending(plain)
    if kind is not None and plain.lower().endswith(".numbers"):
        raise CatalogError(f"{one_line(path)}: no manifest: this is {kind}")
    parts = parts_of(plain, files)
    if not parts:
        return plain, (), {}
    return posixpath.dirname(plain), parts, dict.fromkeys(parts, plain)


def _nothing_there(path: str, location: str) -> CatalogError:
    kind, what = CatalogError, f"file or folder{hint_for(location)}"
    if not kind_of(path).has_folders:  # something may be put there at any time
        kind, what = EmptyCatalog, "object, and none below it"
    return kind(f"{shown(location, path)}: there is no such {what}", catalog=utf8_text(path.rstrip("/")))


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
