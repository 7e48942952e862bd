"""List objects of buckets: as folders, and beside keys that cannot be requested."""

import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import closing
from functools import lru_cache, partial
from itertools import groupby, starmap
from operator import itemgetter
from typing import TYPE_CHECKING

import obstore

from proofsweep.config.buckets import FAILURES, FailureKind, failure_of
from proofsweep.config.locations import one_line, root_and_key
from proofsweep.domain.errors import SourceError
from proofsweep.domain.items import FileFacts
from proofsweep.domain.reasons import Reason
from proofsweep.files.folder_listing import FOLDERS_KEPT, USUAL_RULE, Cause, Folder, ListingRule, without_marked

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import ObjectStore


_PAGE_KEYS = 1_000  # S3 lists at most so many keys in one answer
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_NAMED = re.compile(r'[Pp]ath "(.*?)"(?: contained empty|: Encountered illegal)', re.DOTALL)
_REASONS = {
    FailureKind.ARCHIVED: Reason.ARCHIVED,
    FailureKind.BAD_KEY: Reason.UNREADABLE_FILE,
    FailureKind.CHANGED: Reason.SOURCE_CHANGED,
    FailureKind.FORBIDDEN: Reason.SOURCE_FORBIDDEN,
    FailureKind.NOT_GIVEN: Reason.UNREADABLE_FILE,
}

# Replaces the slash: no character of a key sorts before it, so that a folder comes right before its subfolders.
_STEP = "\x01"
_TABLE = """
    CREATE TABLE object (folder TEXT, name TEXT, why TEXT, size INTEGER, version TEXT, modified REAL,
        PRIMARY KEY (folder, name)) WITHOUT ROWID
"""
_ADD = "INSERT OR IGNORE INTO object VALUES (?, ?, ?, ?, ?, ?)"
# An empty object with a folder's name is no file.
_DROP_MARKERS = """
    DELETE FROM object AS marker WHERE size = 0 AND EXISTS (SELECT 1 FROM object WHERE folder
        BETWEEN marker.folder || char(1) || marker.name AND marker.folder || char(1) || marker.name || char(2))
"""
_IN_ORDER = "SELECT * FROM object ORDER BY folder, name"


def folders_below(
    location: str, listed: Iterable[tuple[str, FileFacts]], rule: ListingRule = USUAL_RULE
) -> Iterator[Folder]:
    """Yield the objects below a prefix, listed in any order, as folders, each before its subfolders.

    Of an object below a folder that is left out, only that folder is named.
    """
    location = location.rstrip("/")
    prefix = root_and_key(location)[1]
    why_folder = lru_cache(FOLDERS_KEPT)(partial(rule.why, is_folder=True))

    def row(key: str, facts: FileFacts) -> tuple[object, ...]:
        path = key.removeprefix(prefix).lstrip("/")
        parts = path.split("/")
        for end in range(1, len(parts)):
            cause = why_folder("/".join(parts[:end]))
            if cause is not None:
                return _row_of(parts[:end], cause, facts)
        return _row_of(parts, rule.why(path, is_folder=False), facts)

    # A bucket may have more objects than fit into memory, so SQLite sorts them in an unnamed file. It is deleted when
    # it is closed.
    with closing(sqlite3.connect("", check_same_thread=False)) as file:
        file.execute(_TABLE)
        file.executemany(_ADD, starmap(row, listed))
        file.execute(_DROP_MARKERS)
        for path, rows in groupby(file.execute(_IN_ORDER), key=itemgetter(0)):
            files: dict[str, FileFacts] = {}
            left_out: defaultdict[Cause, list[str]] = defaultdict(list)
            for _, name, why, *facts in rows:
                if why is None:
                    files[name] = FileFacts(*facts)
                else:
                    left_out[Cause(why)].append(name)
            folder = location + path.replace(_STEP, "/")
            whole = without_marked([*files], left_out)
            yield Folder(location=folder, files=whole, left_out=left_out, known=files)


def _row_of(parts: list[str], cause: Cause | None, facts: FileFacts) -> tuple[object, ...]:
    *folders, name = parts
    above = "".join(f"{_STEP}{folder}" for folder in folders)
    return above, name, cause, facts.size_bytes, facts.version, facts.modified


def pages(store: "ObjectStore", prefix: str, after: str | None = None) -> Iterator[tuple[str, FileFacts]]:
    for page in obstore.list(store, prefix or None, offset=after, chunk_size=_PAGE_KEYS):
        for meta in page:
            key = meta["path"]
            if key.startswith(prefix):
                yield key, facts_of(meta)


def around_bad_keys(store: "ObjectStore", prefix: str, bad: set[str]) -> Iterator[tuple[str, FileFacts]]:
    """Yield keys folder by folder, so that a bad key hides no other folder."""
    try:
        listing = obstore.list_with_delimiter(store, prefix or None)
        for meta in listing["objects"]:
            yield meta["path"], facts_of(meta)
        for folder in listing["common_prefixes"]:
            below = f"{folder}/"
            if len(below) <= len(prefix) or below == "/":  # the key has a slash too many, which obstore drops
                bad.add(f"{prefix}/")
            else:
                yield from around_bad_keys(store, below, bad)
    except FAILURES as error:
        key = bad_key_of(error)
        if key is None:
            raise
        # The listing of this folder ends at a bad key, and what lies before it may stay unknown.
        yield from _past_bad_key(store, prefix, key, bad)


def _past_bad_key(store: "ObjectStore", prefix: str, key: str, bad: set[str]) -> Iterator[tuple[str, FileFacts]]:
    """Yield what lies after a bad key, and after each further one at which the listing fails again."""
    after = ""
    while True:
        bad.add(key)
        below, _, more = key[len(prefix) :].partition("/")
        if more and not _is_bad(below):  # it lies in a folder of this folder
            key = f"{prefix}{below}/"
            yield from around_bad_keys(store, key, bad)
        before, after = after, _next_of(key)
        if after <= before:  # the store lists from the beginning again
            return
        try:
            yield from pages(store, prefix, after)
        except FAILURES as error:
            next_key = bad_key_of(error)
            if next_key is None:
                raise
            key = next_key
        else:
            return


def _next_of(key: str) -> str:
    """Return a key that can be named, and comes after all that begin with this one."""
    control = _CONTROL.search(key)
    if control is None:
        return f"{key.removesuffix('/')}0"  # the zero comes right after the slash
    # A blank comes after the control characters of ASCII, and \x80 after the one at its end.
    next_character = " " if control[0] < " " else "\x80"
    return key[: control.start()] + next_character


def facts_of(meta: "ObjectMeta") -> FileFacts:
    """Return an object's facts, with a version that does not depend on how the ETag is quoted."""
    return FileFacts(meta["size"], _version_of(meta), meta["last_modified"].timestamp())


def _version_of(meta: "ObjectMeta") -> str:
    etag = meta["e_tag"]
    if etag:
        return etag.removeprefix("W/").strip('"')
    modified = meta["last_modified"].isoformat()
    return f"{meta['size']}-{modified}"


def source_error(error: Exception) -> SourceError:
    failure, key = failure_of(error), bad_key_of(error)
    reason = _REASONS.get(failure.kind, Reason.SOURCE_UNAVAILABLE)
    if key is not None:
        return SourceError(bad_key_words(key), reason=reason)
    clause = failure.sentence
    return SourceError(f"{clause[0].upper()}{clause[1:]}.", reason=reason)


def refuse_bad_key(key: str) -> None:
    """Raise SourceError if obstore would refuse a key, or drop its first slash and find another object."""
    if key and any(map(_is_bad, key.removesuffix("/").split("/"))):
        raise SourceError(f"{FailureKind.BAD_KEY.capitalize()}.", reason=Reason.UNREADABLE_FILE)


def bad_key_of(error: Exception) -> str | None:
    """Return the key that cannot be requested, up to the part that is wrong; None for another failure."""
    if failure_of(error).kind is not FailureKind.BAD_KEY:
        return None
    named = _NAMED.search(str(error))
    if named is None:
        return None
    parts = named[1].split("/")
    for at, part in enumerate(parts[:-1], start=1):
        if _is_bad(part):
            return "/".join(parts[:at]) + "/"
    return named[1]


def bad_key_words(key: str) -> str:
    return (
        f"The key {one_line(key)} has an empty part, a dot part or a control character, and cannot be requested; while "
        "it is there, keys before it in its folder may not be listed: rename it."
    )


def _is_bad(part: str) -> bool:
    return part in {"", ".", ".."} or _CONTROL.search(part) is not None
