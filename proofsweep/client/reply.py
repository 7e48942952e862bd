"""What a call asks for, and what came of it, in the words of the contract."""

import hashlib
import socket
import ssl
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import httpx
from pydantic.alias_generators import to_camel

from proofsweep.client.service_clock import ServiceClock
from proofsweep.config.threads import Event, monotonic
from proofsweep.domain.errors import SHORTAGES, SourceError
from proofsweep.domain.exchanges import AnswerHeaders, Call, Exchange, Failure
from proofsweep.domain.models import (
    ApiError,
    EraseProofResponse,
    HealthResponse,
    ListProofsResponse,
    PartnerKeysResponse,
    PartnerUsageResponse,
    Resource,
    RotatedKeyResponse,
    UploadResponse,
    VerifyResponse,
    json_of,
    object_of,
    short_text_of,
)
from proofsweep.domain.text import printable

TakeBody = Callable[[Iterable[bytes]], None]
"""Takes a body; it need not read it to its end, and bounds it itself."""
_MOST_NAMES = 20
_MOST_LETTERS = 60
_STORAGE_CALLS = frozenset({Call.SLOT, Call.DOWNLOAD})
_STORAGE_ID_HEADERS = ("x-amz-request-id", "x-ms-request-id", "x-guploader-uploadid", "x-request-id")
_MOST_ID_LETTERS = 200


def _no_json(document: object) -> str | None:
    return "the answer is no JSON" if document is None else None


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
    flaw: Callable[[object], str | None] = _no_json


@dataclass(frozen=True, slots=True)
class Reply:
    exchange: Exchange
    # the JSON of the body; None where no JSON was expected, or none came.
    document: object = field(default=None, repr=False)
    body_sha256: str = ""  # hex digest of the exact body in memory; empty if it could not be read to its end
    abandoned_by: SourceError | None = None  # the source of the request's body, which could not be sent to its end


class Sending(httpx.SyncByteStream):
    """The body of a request while it is sent. It counts its bytes, and then makes the reply."""

    def __init__(self, request: Request, attempt: int, begun: Event, clock: ServiceClock) -> None:
        self._request, self._attempt, self._begun, self._clock = request, attempt, begun, clock
        self._began = monotonic()
        self.bytes_sent: int | None = None  # None: not even the head was sent, so nothing can have been charged

    def __iter__(self) -> Iterator[bytes]:
        self.bytes_sent = 0
        self._begun.set()
        pieces = self._request.content
        if isinstance(pieces, bytes):
            pieces = (pieces,)
        for piece in pieces:
            yield piece
            self.bytes_sent += len(piece)

    def answered(self, answer: httpx.Response, content: bytes) -> Reply:
        """Read an answer that came whole; JSON that the request cannot use is a failure."""
        call = self._request.call
        body_sha256 = hashlib.sha256(content).hexdigest()
        if call in _STORAGE_CALLS:
            return Reply(self._exchange(answer), None, body_sha256)
        document = json_of(content)
        unnamed = unnamed_in(call, document, is_success=answer.is_success)
        if answer.is_success:
            flaw = self._request.flaw(document)
            failure = Failure.BAD_ANSWER if flaw else None
            exchange = replace(self._exchange(answer, failure, flaw), unnamed=unnamed)
        else:
            error_code = short_text_of(object_of(document).get("code"))
            exchange = replace(self._exchange(answer), error_code=error_code, unnamed=unnamed)
        return Reply(exchange, document, body_sha256)

    def broken(self, answer: httpx.Response | None, error: Exception) -> Reply:
        """Return what went wrong on the wire, and why there was no connection."""
        if isinstance(error, httpx.TimeoutException):
            return Reply(self._exchange(answer, Failure.TIMEOUT))
        # No class of errors tells a body that ends early from one that breaks the rules.
        is_cut = isinstance(error, httpx.NetworkError) or "peer closed connection" in str(error)
        if answer is not None and not is_cut:
            return Reply(self._exchange(answer, Failure.BAD_ANSWER))
        exchange = self._exchange(answer, Failure.CONNECTION, cause_of(error))
        # Too few files or ports on this machine say nothing about the item, so its row must not fail by them.
        if self.bytes_sent is None and _is_shortage(error):
            exchange = replace(exchange, is_shortage=True)
        return Reply(exchange)

    def abandoned(self, error: SourceError) -> Reply:
        """Return an exchange that this machine has ended: it shows nothing of the wire, nor of the service."""
        return Reply(self._exchange(None, Failure.SOURCE, error.message), abandoned_by=error)

    def _exchange(
        self, answer: httpx.Response | None, failure: Failure | None = None, because: str | None = None
    ) -> Exchange:
        ended = monotonic()
        status, received = None, dict[str, str]()
        if answer is not None:
            status, received = answer.status_code, dict(answer.headers.items())
        headers = AnswerHeaders.read(received, now=self._clock())
        date, storage_id = headers.partner_date, None
        if self._request.call in _STORAGE_CALLS:
            storage_id = _storage_id(received)
        elif date is not None:
            # Only the service tells the time: a storage has a clock of its own.
            if not self._clock.counts(date, self._began):
                headers = replace(headers, partner_date=None)
            elif answer is not None and answer.is_success:
                self._clock.record(date, self._began, ended)
        started_at = self._clock.at(self._began)
        return Exchange(
            call=self._request.call,
            attempt=self._attempt,
            started_at=started_at,
            elapsed_ms=(ended - self._began) * 1000,
            headers=headers,
            status=status,
            failure=failure,
            because=because,
            request_id=headers.request_id,
            storage_id=storage_id,
            bytes_sent=self.bytes_sent,
        )


def _storage_id(received: Mapping[str, str]) -> str | None:
    for name in _STORAGE_ID_HEADERS:
        if received.get(name):
            return received[name][:_MOST_ID_LETTERS]
    return None


_RESOURCES: Mapping[Call, type[Resource]] = {
    Call.HEALTH: HealthResponse,
    Call.KEYS: PartnerKeysResponse,
    Call.ROTATE: RotatedKeyResponse,
    Call.USAGE: PartnerUsageResponse,
    Call.PROOFS: ListProofsResponse,
    Call.ERASE: EraseProofResponse,
    Call.UPLOADS: UploadResponse,
    Call.VERIFY: VerifyResponse,
}
"""The answers whose members the contract shows whole. Of the others it says that further members are not shown."""


def unnamed_in(call: Call, document: object, *, is_success: bool) -> tuple[str, ...]:
    """Return the first names, shortened and sorted, of the members that the contract does not name."""
    kind = _RESOURCES.get(call) if is_success else ApiError
    if kind is None:
        return ()
    members = object_of(document)
    unnamed = members.keys() - set(map(to_camel, kind.model_fields))
    names = sorted(_shortened(name) for name in unnamed)
    return tuple(names[:_MOST_NAMES])


def _shortened(name: str) -> str:
    # Cut twice: before, so that a name of megabytes costs nothing, and after, because an escape has more letters.
    return printable(name[:_MOST_LETTERS])[:_MOST_LETTERS]


def cause_of(error: BaseException) -> str | None:
    """Return in a clause why a connection failed, by the system's errors behind it; None if none of them tells."""
    # The deepest error is the system's own, and the most exact one: each library above wraps it.
    for cause in reversed([*_chain(error)]):
        clause = _clause(cause)
        if clause:
            return clause
    return None


def _is_shortage(error: BaseException) -> bool:
    return any(isinstance(cause, OSError) and cause.errno in SHORTAGES for cause in _chain(error))


def _clause(error: BaseException) -> str | None:
    clause: str | None = None
    match error:
        case httpx.ProxyError():
            clause = "the proxy refused the connection: check its user and password, and whether it allows this host"
        case socket.gaierror():
            clause = "DNS does not know the host's name: check service.base_url and the network"
        case ssl.SSLCertVerificationError():
            why = getattr(error, "verify_message", "no reason given")
            clause = f"TLS: the host's certificate is not trusted ({why})"
        case ssl.SSLError():
            why = getattr(error, "reason", None) or "no reason given"
            clause = f"TLS failed ({why}): is this an https address?"
        case ConnectionRefusedError():
            clause = "the connection was refused: nothing listens at this address and port"
        case ConnectionResetError() | BrokenPipeError():
            clause = "the other side closed the connection"
        case OSError(strerror=str(why)):
            clause = why[:1].lower() + why[1:]
    return clause


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
