"""Read, list, create and remove files in buckets."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from fnmatch import fnmatchcase
from functools import partial
from glob import has_magic
from http import HTTPStatus
from typing import TYPE_CHECKING, TypeVar

import obstore

from proofsweep.config.buckets import FAILURES, FailureKind, failure_of, open_bucket
from proofsweep.config.locations import path_within, root_and_key
from proofsweep.config.threads import Lock
from proofsweep.domain.errors import NameTaken, SourceError
from proofsweep.domain.items import FileFacts
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.files.bucket_listing import (
    around_bad_keys,
    bad_key_of,
    bad_key_words,
    facts_of,
    folders_below,
    pages,
    refuse_bad_key,
    source_error,
)
from proofsweep.files.folder_listing import USUAL_RULE, Folder, ListingRule
from proofsweep.files.open_file import OpenFile

if TYPE_CHECKING:
    from obstore import GetOptions, GetResult
    from obstore.store import ObjectStore


PIECE_BYTES = 1024 * 1024
# A look at an object reads so much: the head that tells equal files apart, and what stands before a WAV's audio.
LOOK_BYTES = 64 * 1024

_LARGE_BYTES = 128 * 1024 * 1024
_MOST_BYTES = 5 * 1024**3  # of an object that one request creates, as S3 has it
_TOO_LARGE = "It has more than 5 GiB, and no object of such a size is created in one request: move it yourself."

_Found = TypeVar("_Found")


class BucketFiles:
    """The files at bucket URLs, and a path for new objects; `open_root` opens each bucket once, and after `reopen`.

    Objects are created through `open_to_create`, by default the same.
    """

    def __init__(
        self,
        open_root: Callable[[str], "ObjectStore"] = open_bucket,
        rule: ListingRule = USUAL_RULE,
        open_to_create: Callable[[str], "ObjectStore"] | None = None,
    ) -> None:
        self._open_root, self._open_to_create = open_root, open_to_create or open_root
        self.rule = rule
        self._stores: dict[str, ObjectStore] = {}
        self._stores_to_create: dict[str, ObjectStore] = {}
        self._lock, self._large = Lock(), Lock()

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
            refused = Ineligible(Reason.UNREADABLE_FILE, bad_key_words(key))
            yield Folder(location=f"{root_and_key(location)[0]}/{key}", files=[], refused=refused)

    def listed(self, location: str, *, bad: set[str] | None = None) -> Iterator[tuple[str, FileFacts]]:
        """List the keys below a prefix with their facts, in order; SourceError if they cannot be listed.

        With `bad`, a key that cannot be requested is put there, and the others are listed in any order and perhaps
        twice.
        """
        store, prefix = self._store_and_prefix(location)
        try:
            yield from pages(store, prefix)
        except FAILURES as error:
            if bad is None or bad_key_of(error) is None:
                raise source_error(error) from error
            try:
                yield from around_bad_keys(store, prefix, bad)
            except FAILURES as other:
                raise source_error(other) from other

    def in_folder(self, location: str) -> dict[str, FileFacts | None]:
        """Return the facts of the objects right in a prefix by name, but not of keys that cannot be requested."""
        try:
            return self._objects_in(location)
        except FAILURES as error:
            if bad_key_of(error) is None:
                raise source_error(error) from error
            _, prefix = self._store_and_prefix(location)
            below = self._names_below(location, prefix, set())
            return {name: facts for name, facts in below if "/" not in name}

    def _objects_in(self, location: str) -> dict[str, FileFacts | None]:
        store, prefix = self._store_and_prefix(location)
        objects = obstore.list_with_delimiter(store, prefix or None)["objects"]
        return {_name_of(meta["path"]): facts_of(meta) for meta in objects}

    def names_below(self, location: str, is_followed: Callable[[str], bool]) -> Iterator[str]:
        del is_followed  # a listing gives all
        prefix = root_and_key(location)[1]
        for key, _ in self.listed(location, bad=set()):
            # A key that ends in a slash is an empty object by which some programs show a folder.
            if not key.endswith("/"):
                yield path_within(key, prefix)

    def is_file(self, location: str) -> bool:
        if location.endswith("/"):
            return False
        # With GET: a store explains an error in the body, and the answer to HEAD has none.
        file = self.open(location)
        if file is None:
            return False
        file.close()
        return True

    def is_folder(self, location: str) -> bool:
        bad: set[str] = set()
        first = next(self.listed(location, bad=bad), None)
        return first is not None or bool(bad)

    def matches(self, pattern: str) -> tuple[str, list[tuple[str, bool]]] | None:
        """Match the last part of a URL with the objects in the prefix before it.

        As in a shell, a hidden name matches only a pattern that begins with a dot.
        """
        if not has_magic(root_and_key(pattern)[1]):
            return None
        folder, _, wanted = pattern.rpartition("/")
        try:
            names = sorted(self._objects_in(folder))
        except FAILURES as error:
            raise source_error(error) from error
        matches = list[tuple[str, bool]]()
        for name in names:
            is_hidden = name.startswith(".") and not wanted.startswith(".")
            if not is_hidden and fnmatchcase(name, wanted):
                matches.append((f"{folder}/{name}", False))
        return folder, matches

    def entries(self, location: str) -> dict[str, FileFacts | None]:
        """Return the names right in a prefix, those of folders without facts; SourceError if it cannot be listed."""
        store, prefix = self._store_and_prefix(location)
        entries = dict[str, FileFacts | None]()
        try:
            listing = obstore.list_with_delimiter(store, prefix or None)
        except FAILURES as error:
            if bad_key_of(error) is None:
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

        NameTaken if there is an object of that name; SourceError if the bytes have another digest, are more than a
        request may have, or cannot be written.
        """
        # Of films in a delivery, one at a time is held in memory.
        with ExitStack() as held:
            content = bytearray()
            for piece in pieces:
                if len(content) < _LARGE_BYTES <= len(content) + len(piece):
                    held.enter_context(self._large)
                content += piece
                if len(content) > _MOST_BYTES:
                    raise SourceError(_TOO_LARGE, reason=Reason.UNREADABLE_FILE)
            if hashlib.sha256(content).hexdigest() != sha256:
                raise SourceError("The object is not the one that was verified.", reason=Reason.SOURCE_CHANGED)
            self._put(location, content)

    def _put(self, location: str, content: bytearray) -> None:
        store, key = self._store_to_create(location)
        try:
            obstore.put(store, key, memoryview(content), mode="create", use_multipart=False)
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
            root, _ = root_and_key(location)
            self._stores.pop(root, None)
            self._stores_to_create.pop(root, None)

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
        return self._opened(root, self._stores, self._open_root), key

    def _store_to_create(self, location: str) -> tuple["ObjectStore", str]:
        root, key = root_and_key(location)
        return self._opened(root, self._stores_to_create, self._open_to_create), key

    def _opened(
        self, root: str, stores: dict[str, "ObjectStore"], open_root: Callable[[str], "ObjectStore"]
    ) -> "ObjectStore":
        with self._lock:
            # Once: opening reads credentials, and a million objects lie in few buckets.
            if root not in stores:
                try:
                    stores[root] = open_root(root)
                except FAILURES as error:
                    raise source_error(error) from error
            return stores[root]


def _name_of(key: str) -> str:
    return key.rpartition("/")[2]


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
