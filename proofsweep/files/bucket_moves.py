"""Place objects in buckets where none is, and delete them only while they are what they were."""

import hashlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import obstore

from proofsweep.errors import NameTaken, SourceError
from proofsweep.files.bucket_files import BucketFiles, facts_of, source_error
from proofsweep.files.open_bucket import FAILURES, FailureKind, failure_of, open_bucket
from proofsweep.model.items import FileFacts
from proofsweep.model.reasons import Reason

if TYPE_CHECKING:
    from obstore.store import ObjectStore


class BucketMoves:
    """Creates and removes objects; `open_root` opens each bucket once."""

    def __init__(self, open_root: Callable[[str], "ObjectStore"] = open_bucket) -> None:
        self._files = BucketFiles(open_root)

    def create(self, location: str, pieces: Iterable[bytes], sha256: str) -> None:
        """Put an object of exactly these bytes, which are held in memory: a conditional create is one request.

        NameTaken if there is an object of that name; SourceError if the bytes have another digest, or cannot be
        written.
        """
        content = b"".join(pieces)
        if hashlib.sha256(content).hexdigest() != sha256:
            raise SourceError("The object is not the one that was verified.", reason=Reason.SOURCE_CHANGED)
        store, key = self._files.place_of(location)
        try:
            obstore.put(store, key, content, mode="create", use_multipart=False)
        except FAILURES as error:
            if failure_of(error).kind is FailureKind.TAKEN:
                raise NameTaken("There is an object of that name.") from error
            raise source_error(error) from error

    def clear(self, location: str) -> None:
        """Do nothing: an object appears whole or not at all."""

    def remove(self, location: str, facts: FileFacts) -> bool:
        """Delete an object with these facts; say whether it is gone. One that was replaced meanwhile stays.

        S3 has no deletion that all stores make conditional, so the facts are asked for right before it.
        """
        store, key = self._files.place_of(location)
        try:
            if facts_of(obstore.head(store, key)) != facts:
                return False
            obstore.delete(store, key)
        except FAILURES as error:
            if failure_of(error).kind is not FailureKind.MISSING:
                raise source_error(error) from error
        return True

    def put_back(self, folder: str) -> None:
        """Do nothing: an object is never renamed."""
