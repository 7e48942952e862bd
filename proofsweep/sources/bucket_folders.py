"""Make folders of the keys below a prefix, on local disk, since there may be millions."""

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import lru_cache, partial
from itertools import groupby, islice
from operator import itemgetter

from proofsweep.config.locations import root_and_key
from proofsweep.domain.items import FileFacts
from proofsweep.sources.local_files import FOLDERS_KEPT
from proofsweep.sources.names import USUAL_RULE, LeftOut, ListingRule, is_audio_name
from proofsweep.sources.source import Folder

_BATCH_ROWS = 1_000
_TABLES = """
    CREATE TABLE folder (path TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE object (path TEXT, name TEXT, why TEXT, size INTEGER, version TEXT, modified REAL,
        PRIMARY KEY (path, name)) WITHOUT ROWID;
    INSERT INTO folder VALUES ('');
"""
_ADD_FOLDER = "INSERT OR IGNORE INTO folder VALUES (?)"
_MARKERS = "DELETE FROM object WHERE size = 0 AND path || ? || name IN (SELECT path FROM folder)"
_IN_ORDER = """
    SELECT folder.path, name, why, size, version, modified FROM folder LEFT JOIN object ON object.path = folder.path
    ORDER BY folder.path, name
"""
_STEP = "\x01"
"""Replaces the slash: no character of a key sorts before it, so that a folder comes right before its subfolders."""


def folders_below(
    location: str, listed: Iterable[tuple[str, FileFacts]], rule: ListingRule = USUAL_RULE
) -> Iterator[Folder]:
    """Yield the objects below a prefix, listed in any order, as folders, each before its subfolders.

    Of an object below a folder that is left out, only that folder is named, and audio that is hidden; an empty object
    with a folder's name is no file.
    """
    location, listed = location.rstrip("/"), iter(listed)
    prefix = root_and_key(location)[1]
    why_folder = lru_cache(FOLDERS_KEPT)(partial(rule.why, is_folder=True))
    with closing(sqlite3.connect("", check_same_thread=False)) as file:  # an unnamed file, deleted when closed
        file.executescript(_TABLES)
        while batch := list(islice(listed, _BATCH_ROWS)):
            keys = ((key.removeprefix(prefix).lstrip("/"), facts) for key, facts in batch)
            placed = [(*each, facts) for key, facts in keys for each in _placed(key, rule, why_folder)]
            file.executemany(_ADD_FOLDER, {(folder,) for folders, *_ in placed for folder in folders})
            rows = (
                (folders[-1], name, why, each.size_bytes, each.version, each.modified)
                for folders, name, why, each in placed
            )
            file.executemany("INSERT OR IGNORE INTO object VALUES (?, ?, ?, ?, ?, ?)", rows)
        file.execute(_MARKERS, (_STEP,))
        for path, found in groupby(file.execute(_IN_ORDER), key=itemgetter(0)):
            files: dict[str, FileFacts] = {}
            left_out: defaultdict[LeftOut, list[str]] = defaultdict(list)
            for _, name, why, *facts in found:
                if why is not None:
                    left_out[LeftOut(why)].append(name)
                elif name is not None:
                    files[name] = FileFacts(*facts)
            unfinished = rule.unfinished_in(files)
            if unfinished:
                left_out[LeftOut.UNFINISHED] = sorted({*unfinished.values()})
            yield Folder(
                location=location + path.replace(_STEP, "/"),
                files=[name for name in files if name not in unfinished],
                left_out=left_out,
                unfinished=frozenset(unfinished),
                known=files,
            )


def _placed(
    key: str, rule: ListingRule, why_folder: Callable[[str], LeftOut | None]
) -> Iterator[tuple[list[str], str, LeftOut | None]]:
    """Yield the folders that a key lies in, its name there, and why it is left out: a folder stands for its files."""
    parts = key.split("/")
    depth = next((end for end in range(len(parts) - 1) if why_folder("/".join(parts[: end + 1]))), len(parts) - 1)
    folders = [_STEP.join(["", *parts[:end]]) for end in range(depth + 1)]
    if depth == len(parts) - 1:
        yield folders, parts[depth], rule.why(key, is_folder=False)
        return
    why = why_folder("/".join(parts[: depth + 1]))
    yield folders, parts[depth], why
    if why is LeftOut.HIDDEN and is_audio_name(key) and not parts[-1].startswith("._"):
        yield folders, "/".join(parts[depth:]), LeftOut.HIDDEN_AUDIO
