"""A partner service in this very process: answers each call as a test has scripted it, without a socket."""

import hashlib
import json
import ssl
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from http import HTTPStatus
from itertools import islice

from pydantic import SecretStr

from proofsweep.client.reply import Reply, Request
from proofsweep.client.transport import BROKEN_EXCHANGE, Transport
from proofsweep.config.proxies import Proxies
from proofsweep.config.sections import TimeoutSettings
from proofsweep.domain.exchanges import AnswerHeaders, Call, Exchange, Failure

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scripted:
    """One answer: a status with its JSON, or a connection that breaks (status None)."""

    status: int | None = 200
    document: object = None
    remaining: int | None = None
    retry_after: float | None = None
    reset: datetime | None = None
    error_code: str | None = None
    failure: Failure | None = None  # beside its status
    is_shortage: bool = False  # no connection could be opened here


SLOT = Scripted(document={"uploadId": "u", "url": "https://storage.example/slot", "fields": {"policy": "p"}})
STORED = Scripted(status=204)
VALID = Scripted(document={"good": True, "verdict": "valid"})
HEALTHY = Scripted(document={"ok": True, "version": "7"})
USAGE = Scripted(document={"plan": {"quotaLimit": 1000}, "days": []}, remaining=900)

_NO_SOCKET = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class ScriptedService(Transport):
    """Answers with what is next in its script; without one, as a service does at which all is well.

    Attributes:
        script: the next answers to each call.
        calls: what was asked, in order.
        uploads: the bodies of the form POSTs.
        bodies: the JSON bodies of POST /verify.
        on_call: told of each call before it is answered.
        on_answer: told of each call when its body was taken.
        download: gives the pieces of a download, whose size is not announced.
        clock: tells when an exchange begins.
        slot_pieces: a form POST is answered after so many pieces of its body; None for the whole of it.
    """

    def __init__(self) -> None:
        """Begin with an empty script."""
        super().__init__(TimeoutSettings(), user_agent="test", proxies=Proxies({}), tls=_NO_SOCKET)
        self.reached.set()
        self.clock: Callable[[], datetime] = lambda: NOW
        self.script: defaultdict[Call, list[Scripted]] = defaultdict(list)
        self.usual = {
            Call.UPLOADS: SLOT,
            Call.SLOT: STORED,
            Call.VERIFY: VALID,
            Call.HEALTH: HEALTHY,
            Call.USAGE: USAGE,
        }
        self.calls: list[Call] = []
        self.uploads: list[bytes] = []
        self.bodies: list[object] = []
        self.on_call: Callable[[Call], object] = lambda _call: None
        self.on_answer: Callable[[Call], object] = lambda _call: None
        self.slot_pieces: int | None = None
        self.download: Callable[[], Iterable[bytes]] = lambda: [b""]

    def send(self, request: Request, *, attempt: int, key: SecretStr | None) -> Reply:
        """Take the request's body and answer it; a key travels with keyed calls alone."""
        assert (key is not None) is request.call.is_keyed
        self.calls.append(request.call)
        self.on_call(request.call)
        most_pieces = self.slot_pieces if request.call is Call.SLOT else None
        content = (
            request.content if isinstance(request.content, bytes) else b"".join(islice(request.content, most_pieces))
        )
        self.on_answer(request.call)
        if request.call is Call.SLOT:
            self.uploads.append(content)
        if request.call is Call.VERIFY:
            self.bodies.append(json.loads(content))
        waiting = self.script[request.call]
        answer = waiting.pop(0) if waiting else self.usual[request.call]
        exchange = self._exchange(request, attempt, answer)
        if request.into is not None and answer.status == HTTPStatus.OK:
            try:
                request.into(self.download())
            except BROKEN_EXCHANGE:
                return Reply(replace(exchange, failure=Failure.BAD_ANSWER))
        body_sha256 = hashlib.sha256(json.dumps(answer.document).encode()).hexdigest()
        return Reply(exchange, answer.document, body_sha256)

    def _exchange(self, request: Request, attempt: int, answer: Scripted) -> Exchange:
        headers = AnswerHeaders(
            request_id=f"id-{len(self.calls)}",
            rate_remaining=answer.remaining,
            retry_after_seconds=answer.retry_after,
            rate_reset=answer.reset,
        )
        return Exchange(
            call=request.call,
            attempt=attempt,
            started_at=self.clock(),
            elapsed_ms=1.0,
            headers=headers,
            status=answer.status,
            failure=Failure.CONNECTION if answer.status is None else answer.failure,
            is_shortage=answer.is_shortage,
            request_id=headers.request_id,
            error_code=answer.error_code,
            bytes_sent=request.content_bytes,
        )
