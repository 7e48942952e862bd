"""What is sent and what comes back, as values; their repr shows no secret."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from proofsweep.domain.exchanges import Call, Exchange

TakeBody = Callable[[Iterable[bytes], int | None], None]
"""Takes a body, whose size the answer may have announced; it need not read it to its end, and bounds it itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    call: Call
    method: str
    url: str = field(repr=False)
    params: Mapping[str, str | int] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    content: bytes | Iterable[bytes] = field(default=b"", repr=False)
    content_bytes: int = 0  # the exact length of the content, for Content-Length
    into: TakeBody | None = None  # takes the body of a success; None keeps it in memory
    # says in a clause why the JSON of a success cannot be used, and the call is repeated; None if it can.
    flaw: Callable[[object], str | None] = lambda document: "the answer is no JSON" if document is None else None


@dataclass(frozen=True, slots=True)
class Reply:
    exchange: Exchange
    # the JSON of the body; None where no JSON was expected, or none came.
    document: object = field(default=None, repr=False)
    body_sha256: str = ""  # hex digest of the exact body in memory; empty if it could not be read to its end
