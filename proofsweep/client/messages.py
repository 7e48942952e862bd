"""What is sent and what comes back, as values; their repr shows no secret."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from proofsweep.domain.exchanges import Call, Exchange


class Sink(Protocol):
    """Where the body of a success goes; a body larger than `most_bytes` is a bad answer."""

    most_bytes: int

    def take(self, pieces: Iterable[bytes], size_bytes: int | None = None) -> str:
        """Take a body, whose size the answer may have announced; give its hex sha256."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to send. The URL, the headers and the content may hold secrets.

    Attributes:
        content_bytes: the exact length of the content, for Content-Length.
        into: where the body of a success goes; None keeps it in memory.
        is_usable: says whether the JSON of a success can be used; if not, the call is repeated.
    """

    call: Call
    method: str
    url: str = field(repr=False)
    params: Mapping[str, str | int] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    content: bytes | Iterable[bytes] = field(default=b"", repr=False)
    content_bytes: int = 0
    into: Sink | None = None
    is_usable: Callable[[object], bool] = lambda document: document is not None


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back.

    Attributes:
        document: the JSON of the body; None where no JSON was expected, or none came.
        body_sha256: hex digest of the exact body; empty if it could not be read to its end.
    """

    exchange: Exchange
    document: object = field(default=None, repr=False)
    body_sha256: str = ""
