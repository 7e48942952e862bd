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
from proofsweep.domain import models
from proofsweep.domain.errors import SHORTAGES, SourceError
from proofsweep.domain.exchanges import AnswerHeaders, Call, Exchange, Failure
from proofsweep.domain.models import Resource, json_of, object_of, short_text_of
from proofsweep.domain.text import printable

TakeBody = Callable[[Iterable[bytes]], None]
"""Takes a body; it need not read it to its end, and bounds it itself."""
_MOST_NAMES = 20
_MOST_LETTERS = 60
_STORAGE_ID_HEADERS = ("x-amz-request-id", "x-ms-request-id", "x-guploader-uploadid", "x-request-id")


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
    abandoned_by: SourceError | None = None  # the source of the request's body, which could not be sent to its end


class Sending(httpx.SyncByteStream):
    """The body of a request while it is sent, which counts its bytes; then what is known of the exchange."""

    def __init__(self, request: Request, attempt: int, begun: Event, clock: ServiceClock) -> None:
        self._request, self._attempt, self._begun, self._clock = request, attempt, begun, clock
        self._began = monotonic()
        self.bytes_sent: int | None = None  # None: not even the head was sent, so nothing can have been charged

    def __iter__(self) -> Iterator[bytes]:
        self.bytes_sent, content = 0, self._request.content
        self._begun.set()
        for piece in (content,) if isinstance(content, bytes) else content:
            yield piece
            self.bytes_sent += len(piece)

    def answered(self, answer: httpx.Response, content: bytes) -> Reply:
        """Read an answer that came whole; JSON that the request cannot use is a failure."""
        call, body_sha256 = self._request.call, hashlib.sha256(content).hexdigest()
        if not call.is_keyed and call is not Call.HEALTH:
            return Reply(self._exchange(answer), None, body_sha256)
        document, is_success = json_of(content), answer.is_success
        flaw = self._request.flaw(document) if is_success else None
        exchange = replace(
            self._exchange(answer, Failure.BAD_ANSWER if flaw else None, flaw),
            error_code=None if is_success else short_text_of(object_of(document).get("code")),
            unnamed=unnamed_in(call, document, is_success=is_success),
        )
        return Reply(exchange, document, body_sha256)

    def broken(self, answer: httpx.Response | None, error: Exception) -> Reply:
        """Return what went wrong on the wire, and why there was no connection."""
        if isinstance(error, httpx.TimeoutException):
            return Reply(self._exchange(answer, Failure.TIMEOUT))
        # No class of errors tells a body that ends early from one that breaks the rules.
        is_cut = isinstance(error, httpx.NetworkError) or "peer closed connection" in str(error)
        if answer is not None and not is_cut:
            return Reply(self._exchange(answer, Failure.BAD_ANSWER))
        is_shortage = any(isinstance(each, OSError) and each.errno in SHORTAGES for each in _chain(error))
        exchange = self._exchange(answer, Failure.CONNECTION, cause_of(error))
        return Reply(replace(exchange, is_shortage=is_shortage and self.bytes_sent is None))

    def abandoned(self, error: SourceError) -> Reply:
        """Return an exchange that this machine has ended: it shows nothing of the wire, nor of the service."""
        return Reply(self._exchange(None, Failure.SOURCE, error.message), abandoned_by=error)

    def _exchange(
        self, answer: httpx.Response | None, failure: Failure | None = None, because: str | None = None
    ) -> Exchange:
        received, ended = {} if answer is None else dict(answer.headers.items()), monotonic()
        headers = AnswerHeaders.read(received, now=self._clock())
        is_of_service = self._request.call not in {Call.SLOT, Call.DOWNLOAD}  # a storage has a clock of its own
        if is_of_service and answer is not None and answer.is_success and headers.partner_date is not None:
            self._clock.note(headers.partner_date, self._began, ended)
        names = _STORAGE_ID_HEADERS if self._request.call in {Call.SLOT, Call.DOWNLOAD} else ()
        return Exchange(
            call=self._request.call,
            attempt=self._attempt,
            started_at=self._clock.at(self._began),
            elapsed_ms=(ended - self._began) * 1000,
            headers=headers,
            status=None if answer is None else answer.status_code,
            failure=failure,
            because=because,
            request_id=headers.request_id,
            storage_id=next((received[name][:200] for name in names if received.get(name)), None),
            bytes_sent=self.bytes_sent,
        )


_RESOURCES: Mapping[Call, type[Resource]] = {
    Call.HEALTH: models.HealthResponse,
    Call.KEYS: models.PartnerKeysResponse,
    Call.ROTATE: models.RotatedKeyResponse,
    Call.USAGE: models.PartnerUsageResponse,
    Call.PROOFS: models.ListProofsResponse,
    Call.ERASE: models.EraseProofResponse,
    Call.UPLOADS: models.UploadResponse,
    Call.VERIFY: models.VerifyResponse,
}
"""The answers whose members the contract shows whole. Of the others it says that further members are not shown."""


def unnamed_in(call: Call, document: object, *, is_success: bool) -> tuple[str, ...]:
    """Return the names of the members that the contract does not name, sorted; of many, and of long ones, a part."""
    kind = _RESOURCES.get(call) if is_success else models.ApiError
    if kind is None:
        return ()
    names = object_of(document).keys() - set(map(to_camel, kind.model_fields))
    return tuple(sorted(printable(name[:_MOST_LETTERS])[:_MOST_LETTERS] for name in names)[:_MOST_NAMES])


def cause_of(error: BaseException) -> str | None:
    """Return in a clause why a connection failed, by the system's errors behind it; None if none of them tells."""
    return next((clause for each in reversed([*_chain(error)]) if (clause := _clause(each))), None)


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
            clause = f"TLS failed ({getattr(error, 'reason', None) or 'no reason given'}): is this an https address?"
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
