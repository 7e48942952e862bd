"""What is sent and what comes back, as values; nothing in them that may be secret is ever printed."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO

from proofsweep.domain.exchanges import Call, Exchange


@dataclass(frozen=True, slots=True)
class Destination:
    """A writable file for the body of a success, which must not be larger than `most_bytes`."""

    file: BinaryIO
    most_bytes: int

    def take(self, pieces: Iterable[bytes]) -> str:
        """Write a body, each attempt over the last one; give its hex sha256."""
        digest = hashlib.sha256()
        self.file.seek(0)
        self.file.truncate()
        for piece in pieces:
            digest.update(piece)
            self.file.write(piece)
        return digest.hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to send. The URL, the headers and the content may hold secrets.

    Attributes:
        content_bytes: the exact length of the content, for Content-Length.
        into: where the body of a success goes; None when it is small, and kept in memory.
        is_usable: says whether a success's JSON is worth anything; one that is not is asked for again.
    """

    call: Call
    method: str
    url: str = field(repr=False)
    params: Mapping[str, str | int] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    content: bytes | Iterable[bytes] = field(default=b"", repr=False)
    content_bytes: int = 0
    into: Destination | None = None
    is_usable: Callable[[object], bool] = lambda document: document is not None


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back.

    Attributes:
        document: the JSON of the body; None where none was expected, or where it was none.
        body_sha256: hex digest of the exact body; empty where it could not be read whole.
    """

    exchange: Exchange
    document: object = field(default=None, repr=False)
    body_sha256: str = ""
