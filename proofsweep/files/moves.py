"""Move one file: copy it where none is, read the copy back, and only then remove the file."""

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Protocol

from proofsweep.errors import NameTaken, SourceError
from proofsweep.files.audio import PIECE_BYTES
from proofsweep.files.files import Files
from proofsweep.files.local_moves import LocalMoves
from proofsweep.files.locations import is_bucket
from proofsweep.files.source import OpenFile
from proofsweep.model.items import FileFacts
from proofsweep.model.reasons import Reason


class WritableFiles(Protocol):
    """Where files can be created and removed: a folder tree or a bucket."""

    def create(self, location: str, pieces: Iterable[bytes], sha256: str) -> None:
        """Make a file; NameTaken if there is one, SourceError if the bytes are others or cannot be written."""
        ...

    def clear(self, location: str) -> None:
        """Heal what a killed process has left of a copy to this name."""
        ...

    def remove(self, location: str, facts: FileFacts) -> bool:
        """Remove a file with these facts; say whether it is gone."""
        ...

    def put_back(self, folder: str) -> None:
        """Heal what a killed process has left below a folder."""
        ...


class Moves:
    """Copies and removes files on this machine and in buckets."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._local = LocalMoves()
        self._buckets: WritableFiles | None = None

    def copy(self, source: str, target: str, sha256: str) -> FileFacts | None:
        """Copy a file with this digest to a name that is free or has these bytes already, and read the copy back.

        Gives the facts of the source as it was read; None if the source is gone or is another file by now. A copy that
        somebody takes away at once was made. NameTaken if the target is another file; SourceError if neither source nor
        target is that file, or one of the two cannot be read or written.
        """
        self.clear(target)
        held = self.digest(target)
        with self._opened(source, is_needed=held is None) as file:
            facts = None if file is None else file.facts()
            if file is not None and facts is not None:
                if held is None:
                    self._place_of(target).create(target, _pieces(file, facts.size_bytes), sha256)
                elif _digest(file, facts.size_bytes) != sha256:
                    facts = None
        if (held or self.digest(target)) not in {None, sha256}:
            raise NameTaken("There is another file of that name.")
        return facts

    def remove(self, source: str, facts: FileFacts) -> bool:
        """Remove a file that was copied; say whether it is gone: one that changed since then stays."""
        return self._place_of(source).remove(source, facts)

    def discard(self, copy: str, sha256: str) -> None:
        """Delete a copy that has no use; a file with other bytes stays."""
        self.clear(copy)
        with self._opened(copy, is_needed=False) as file:
            facts = None if file is None else file.facts()
            is_copy = file is not None and facts is not None and _digest(file, facts.size_bytes) == sha256
        if is_copy and facts is not None:
            self.remove(copy, facts)

    def clear(self, target: str) -> None:
        """Heal what a killed process has left of a copy to this name."""
        self._place_of(target).clear(target)

    def is_link(self, source: str) -> bool:
        """Whether there is a link: it would be copied, and could not be removed."""
        with suppress(OSError):
            return not is_bucket(source) and Path(source).is_symlink()
        return False

    def put_back(self, folder: str) -> None:
        """Restore the names of files that a killed process had renamed in a folder or below it."""
        self._place_of(folder).put_back(folder)

    def digest(self, location: str) -> str | None:
        """Read a whole file; give its hex sha256, or None if there is none."""
        found = self._files.open(location, is_whole=True)
        if found is None:
            return None
        with found as file:
            return _digest(file, file.facts().size_bytes)

    @contextmanager
    def _opened(self, source: str, *, is_needed: bool) -> Iterator[OpenFile | None]:
        file = self._files.open(source, is_whole=True)
        if file is None and is_needed:
            raise SourceError("The file is no longer there.", reason=Reason.MISSING_AUDIO)
        with file or nullcontext():
            yield file

    def _place_of(self, location: str) -> WritableFiles:
        if not is_bucket(location):
            return self._local
        if self._buckets is None:
            from proofsweep.files.bucket_moves import BucketMoves  # noqa: PLC0415 - only for buckets

            self._buckets = BucketMoves()
        return self._buckets


def _pieces(file: OpenFile, size_bytes: int) -> Iterator[bytes]:
    position = 0
    while position < size_bytes and (piece := file.read_at(position, min(PIECE_BYTES, size_bytes - position))):
        position += len(piece)
        yield piece


def _digest(file: OpenFile, size_bytes: int) -> str:
    digest = hashlib.sha256()
    for piece in _pieces(file, size_bytes):
        digest.update(piece)
    return digest.hexdigest()
