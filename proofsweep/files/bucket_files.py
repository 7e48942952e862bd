"""Read, list, create and remove files in buckets, also beside keys that cannot be requested."""

import hashlib
import re
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from functools import lru_cache, partial
from http import HTTPStatus
from itertools import groupby, starmap
from operator import itemgetter
from typing import TYPE_CHECKING, TypeVar

import obstore

from proofsweep.config.buckets import FAILURES, FailureKind, failure_of, open_bucket
from proofsweep.config.locations import one_line, root_and_key
from proofsweep.config.threads import Lock
from proofsweep.domain.errors import NameTaken, SourceError
from proofsweep.domain.items import FileFacts
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.files.folder_listing import FOLDERS_KEPT, USUAL_RULE, Cause, Folder, ListingRule, without_marked
from proofsweep.files.open_file import OpenFile

if TYPE_CHECKING:
    from obstore import GetOptions, GetResult, ObjectMeta
    from obstore.store import ObjectStore


PIECE_BYTES = 1024 * 1024
# A look at an object reads so much: the head that tells equal files apart, and what stands before a WAV's audio.
LOOK_BYTES = 64 * 1024
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

_Found = TypeVar("_Found")


class BucketFiles:
    """The files at bucket URLs, and a path for new objects; `open_root` opens each bucket once, and after `reopen`."""

    def __init__(self, open_root: Callable[[str], "ObjectStore"] = open_bucket, rule: ListingRule = USUAL_RULE) -> None:
        self._open_root = open_root
        self.rule = rule
        self._stores: dict[str, ObjectStore] = {}
        self._lock = Lock()

    def facts(self, location: str) -> FileFacts | None:
        return self._found(location, _head)

    def open(self, location: str, *, is_whole: bool = False) -> "BucketFile | None":
        return self._found(location, partial(BucketFile, is_whole=is_whole))

    def walk(self, location: str) -> Iterator[Folder]:
        """Return a prefix and all prefixes below it as folders, with the facts of their files.

        A key that cannot be requested is a folder of its own, at the end, which says so.
        """
        bad: set[str] = set()
        yield from folders_below(location, self.listed(location, bad=bad), self.rule)
        for key in sorted(bad):
            refused = Ineligible(Reason.UNREADABLE_FILE, _bad_key_words(key))
            yield Folder(location=f"{root_and_key(location)[0]}/{key}", files=[], refused=refused)

    def listed(self, location: str, *, bad: set[str] | None = None) -> Iterator[tuple[str, FileFacts]]:
        """List the keys below a prefix with their facts, in order; SourceError if they cannot be listed.

        With `bad`, a key that cannot be requested is put there, and the others are listed in any order and perhaps
        twice.
        """
        store, prefix = self._store_and_prefix(location)
        try:
            yield from _pages(store, prefix)
        except FAILURES as error:
            if bad is None or _bad_key_of(error) is None:
                raise source_error(error) from error
            try:
                yield from _around_bad_keys(store, prefix, bad)
            except FAILURES as other:
                raise source_error(other) from other

    def in_folder(self, location: str, *, bad: set[str] | None = None) -> dict[str, FileFacts]:
        """Return the facts of the objects right in a prefix by name; SourceError and `bad` as in `listed`."""
        store, prefix = self._store_and_prefix(location)
        try:
            objects = obstore.list_with_delimiter(store, prefix or None)["objects"]
        except FAILURES as error:
            if bad is None or _bad_key_of(error) is None:
                raise source_error(error) from error
            below = self._names_below(location, prefix, bad)
            return {name: facts for name, facts in below if "/" not in name}
        return {_name_of(meta["path"]): facts_of(meta) for meta in objects}

    def entries(self, location: str) -> dict[str, FileFacts | None]:
        """Return the names right in a prefix, those of folders without facts; SourceError if it cannot be listed."""
        store, prefix = self._store_and_prefix(location)
        entries = dict[str, FileFacts | None]()
        try:
            listing = obstore.list_with_delimiter(store, prefix or None)
        except FAILURES as error:
            if _bad_key_of(error) is None:
                raise source_error(error) from error
            for path, facts in self._names_below(location, prefix, set()):
                name, is_folder, _ = path.partition("/")
                entries[name] = None if is_folder else facts
            return entries
        for folder in listing["common_prefixes"]:
            entries[_name_of(folder.rstrip("/"))] = None
        for meta in listing["objects"]:
            entries[_name_of(meta["path"])] = facts_of(meta)
        return entries

    def _store_and_prefix(self, location: str) -> tuple["ObjectStore", str]:
        store, key = self.store_and_key(location)
        prefix = f"{key.rstrip('/')}/" if key else ""
        return store, prefix

    def _names_below(self, location: str, prefix: str, bad: set[str]) -> Iterator[tuple[str, FileFacts]]:
        for key, facts in self.listed(location, bad=bad):
            yield key.removeprefix(prefix), facts

    def create(self, location: str, pieces: Iterable[bytes], sha256: str) -> None:
        """Put an object of exactly these bytes, which are held in memory: a conditional create is one request.

        NameTaken if there is an object of that name; SourceError if the bytes have another digest, or cannot be
        written.
        """
        content = b"".join(pieces)
        if hashlib.sha256(content).hexdigest() != sha256:
            raise SourceError("The object is not the one that was verified.", reason=Reason.SOURCE_CHANGED)
        store, key = self.store_and_key(location)
        try:
            obstore.put(store, key, content, mode="create", use_multipart=False)
        except FAILURES as error:
            if failure_of(error).kind is FailureKind.TAKEN:
                raise NameTaken("There is an object of that name.") from error
            raise source_error(error) from error

    def remove(self, location: str, facts: FileFacts) -> bool:
        """Delete an object with these facts; say whether it is gone. One that was replaced meanwhile stays."""
        store, key = self.store_and_key(location)
        try:
            # S3 has no deletion that all stores make conditional, so the facts are asked for right before it.
            if facts_of(obstore.head(store, key)) != facts:
                return False
            obstore.delete(store, key)
        except FAILURES as error:
            if failure_of(error).kind is not FailureKind.MISSING:
                raise source_error(error) from error
        return True

    def reopen(self, location: str) -> None:
        """Forget a bucket, so that its next use finds new credentials."""
        with self._lock:
            self._stores.pop(root_and_key(location)[0], None)

    def _found(self, location: str, ask: "Callable[[ObjectStore, str], _Found]") -> _Found | None:
        store, key = self.store_and_key(location)
        refuse_bad_key(key)
        # An object whose key ends in a slash stands for a folder, and obstore would drop the slash.
        if not key or key.endswith("/"):
            return None
        try:
            return ask(store, key)
        except FAILURES as error:
            if isinstance(error, UnicodeEncodeError) or failure_of(error).kind is FailureKind.MISSING:
                return None
            raise source_error(error) from error

    def store_and_key(self, location: str) -> tuple["ObjectStore", str]:
        """Return an object's bucket and key; SourceError if the bucket cannot be opened."""
        root, key = root_and_key(location)
        with self._lock:
            # Once: opening reads credentials, and a million objects lie in few buckets.
            if root not in self._stores:
                try:
                    self._stores[root] = self._open_root(root)
                except FAILURES as error:
                    raise source_error(error) from error
            return self._stores[root], key


def _head(store: "ObjectStore", key: str) -> FileFacts:
    try:
        return facts_of(obstore.head(store, key))
    except FAILURES as error:
        # The answer to HEAD has no body. That to GET says why the object is refused.
        if failure_of(error).status != HTTPStatus.BAD_REQUEST:
            raise
        return BucketFile(store, key).facts()


class BucketFile(OpenFile):
    """One object of one version: opening it reads its beginning, and a stream gives the rest as it is read.

    With `is_whole` that is one request, whose answer waits at the store while nothing is read, and the first MiB is
    read; without, it is two, of which the first gives 64 KiB alone. A reader holds two or three MiB in memory.
    """

    def __init__(self, store: "ObjectStore", key: str, *, is_whole: bool = False) -> None:
        self._store = store
        self._key = key
        self._etag: str | None = None
        self._stream: Iterator[bytes] = iter(())
        if is_whole:
            answer = self._get({})
            self._opened = facts_of(answer.meta)
            self._stream = iter(answer.stream(min_chunk_size=PIECE_BYTES))
            self._head = next(self._stream, b"")
        else:
            self._opened, self._head = self._look()
        self._start, self._piece = 0, self._head

    def facts(self) -> FileFacts:
        return self._opened

    def read_at(self, offset: int, most_bytes: int) -> bytes:
        """Return the bytes at an offset; any but the next offset costs a new request."""
        if offset < len(self._head):
            return self._head[offset : offset + most_bytes]
        if offset >= self._opened.size_bytes:
            return b""
        if not self._start <= offset < self._start + len(self._piece):
            self._move_to(offset)
        begin = offset - self._start
        return self._piece[begin : begin + most_bytes]

    def close(self) -> None:
        self._stream, self._piece = iter(()), b""
        super().close()

    def _look(self) -> tuple[FileFacts, bytes]:
        try:
            answer = self._get({"range": (0, LOOK_BYTES)})
            return facts_of(answer.meta), bytes(answer.bytes())
        except FAILURES as error:
            # An empty object has no range at all, and only its head can be asked for.
            if failure_of(error).kind is not FailureKind.EMPTY_RANGE:
                raise
            meta = obstore.head(self._store, self._key)
            return facts_of(meta), b""

    def _move_to(self, offset: int) -> None:
        # The stream gives the next piece. Elsewhere, and where the stream breaks off, a new request gives the rest.
        piece = b""
        if offset == self._start + len(self._piece):
            with suppress(*FAILURES):  # a store ends an answer that waits for a slow upload
                piece = next(self._stream, b"")
        try:
            if not piece:
                self._stream = self._stream_from(offset)
                piece = next(self._stream, b"")
        except FAILURES as error:
            if failure_of(error).kind is FailureKind.MISSING:
                deleted = "The object was deleted while it was read."
                raise SourceError(deleted, reason=Reason.SOURCE_CHANGED) from error
            raise source_error(error) from error
        self._start, self._piece = offset, piece

    def _stream_from(self, offset: int) -> Iterator[bytes]:
        options: GetOptions = {"range": {"offset": offset}}
        if self._etag is not None:
            options["if_match"] = self._etag
        answer = self._get(options)
        if facts_of(answer.meta) != self._opened:  # the store ignores conditions
            raise SourceError("The object was replaced while it was read.", reason=Reason.SOURCE_CHANGED)
        return iter(answer.stream(min_chunk_size=PIECE_BYTES))

    def _get(self, options: "GetOptions") -> "GetResult":
        answer = obstore.get(self._store, self._key, options=options)
        self._etag = answer.meta["e_tag"]
        return answer


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


def _pages(store: "ObjectStore", prefix: str, after: str | None = None) -> Iterator[tuple[str, FileFacts]]:
    for page in obstore.list(store, prefix or None, offset=after, chunk_size=_PAGE_KEYS):
        for meta in page:
            key = meta["path"]
            if key.startswith(prefix):
                yield key, facts_of(meta)


def _around_bad_keys(store: "ObjectStore", prefix: str, bad: set[str]) -> Iterator[tuple[str, FileFacts]]:
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
                yield from _around_bad_keys(store, below, bad)
    except FAILURES as error:
        key = _bad_key_of(error)
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
            yield from _around_bad_keys(store, key, bad)
        before, after = after, _next_of(key)
        if after <= before:  # the store lists from the beginning again
            return
        try:
            yield from _pages(store, prefix, after)
        except FAILURES as error:
            next_key = _bad_key_of(error)
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


def _name_of(key: str) -> str:
    return key.rpartition("/")[2]


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
    failure, key = failure_of(error), _bad_key_of(error)
    reason = _REASONS.get(failure.kind, Reason.SOURCE_UNAVAILABLE)
    if key is not None:
        return SourceError(_bad_key_words(key), reason=reason)
    clause = failure.sentence
    return SourceError(f"{clause[0].upper()}{clause[1:]}.", reason=reason)


def refuse_bad_key(key: str) -> None:
    """Raise SourceError if obstore would refuse a key, or drop its first slash and find another object."""
    if key and any(map(_is_bad, key.removesuffix("/").split("/"))):
        raise SourceError(f"{FailureKind.BAD_KEY.capitalize()}.", reason=Reason.UNREADABLE_FILE)


def _bad_key_of(error: Exception) -> str | None:
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


def _bad_key_words(key: str) -> str:
    return (
        f"The key {one_line(key)} has an empty part, a dot part or a control character, and cannot be requested; while "
        "it is there, keys before it in its folder may not be listed: rename it."
    )


def _is_bad(part: str) -> bool:
    return part in {"", ".", ".."} or _CONTROL.search(part) is not None
