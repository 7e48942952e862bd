"""The request pipeline: the steps that every request to the API or to the storage target goes through."""

import asyncio
import logging
from typing import Protocol

from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response
from starlette.types import Receive, Scope, Send

from proofsweep_sandbox.answers import Answer, Refusal
from proofsweep_sandbox.faults.responses import with_faults
from proofsweep_sandbox.faults.rules import Fault, FaultKind
from proofsweep_sandbox.later_release import with_new_members
from proofsweep_sandbox.routing import Exchange, Routes
from proofsweep_sandbox.serialization import on_the_wire, serialized
from proofsweep_sandbox.service import Service
from proofsweep_sandbox.wire import closed, reset, send_half

_logger = logging.getLogger("sandbox")


class Origin(Protocol):
    """A web origin, the API gateway or the storage target: its endpoints, its access rules and its form of errors."""

    @property
    def name(self) -> str:
        """Return the origin's name in the exchange log."""

    def new_request_id(self) -> str:
        """Return a new request ID in this origin's format."""

    @property
    def routes(self) -> Routes:
        """Return the endpoints of this origin."""

    def admit(self, exchange: Exchange) -> None:
        """Authenticate and meter a request; raise Refusal if it may not pass."""

    def error_answer(self, refusal: Refusal, exchange: Exchange) -> Answer:
        """Return a refusal in this origin's form of errors."""

    def headers(self, exchange: Exchange, status: int) -> dict[str, str]:
        """Return the headers that this origin adds to an answer of this status."""


class RequestPipeline:
    """The ASGI application of one origin."""

    def __init__(self, service: Service, origin: Origin) -> None:
        self._service = service
        self._origin = origin

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request.

        (1) Admit the caller, (2) apply the early faults or serve, (3) apply the faults of the answer, (4) log the
        exchange, (5) send. The log comes before the answer: a client never has a request ID that is not in the log.
        """
        exchange = self._begun(Request(scope, receive))
        faults: list[Fault] = []
        try:
            self._origin.admit(exchange)  # (1)
            faults = self._service.faults.drawn(exchange.endpoint.name)
            answer = await self._early_fault(exchange, faults) or await exchange.endpoint.serve(
                self._service, exchange
            )  # (2)
        except Refusal as refusal:
            answer = self._origin.error_answer(refusal, exchange)
        except _ConnectionGoneError:
            return
        except ClientDisconnect:
            self._log(exchange, None)
            return
        except Exception:
            _logger.exception("request %s failed", exchange.request_id)
            answer = self._origin.error_answer(Refusal(500, "internal", "the sandbox failed"), exchange)
        answer = self._serialized(answer.with_headers(self._origin.headers(exchange, answer.status)))
        await self._send(exchange, with_faults(answer, faults), {fault.kind for fault in faults}, send)  # (3)

    def framing_answer(self) -> Answer:
        """Return this origin's answer to bytes that are no HTTP/1.1, which have no request; it is in the log too."""
        empty = Request(
            {"type": "http", "method": "", "path": "/", "raw_path": b"/", "headers": [], "query_string": b""}
        )
        exchange = self._begun(empty)
        answer = self._origin.error_answer(Refusal(400, "invalid_request", "this is not HTTP/1.1"), exchange)
        answer = answer.with_headers(self._origin.headers(exchange, answer.status))
        self._log(exchange, answer.status)
        return answer

    def _serialized(self, answer: Answer) -> Answer:
        """Add what a later release adds, and write the answer in this sandbox's unspecified form."""
        return serialized(
            with_new_members(answer) if self._service.is_later_release else answer, self._service.unspecified
        )

    def _begun(self, request: Request) -> Exchange:
        raw_path = request.scope["raw_path"].decode("ascii", "replace")
        endpoint, path = self._origin.routes.find(request.method, raw_path)
        return Exchange(request=request, request_id=self._origin.new_request_id(), endpoint=endpoint, path=path)

    async def _early_fault(self, exchange: Exchange, faults: list[Fault]) -> Answer | None:
        """Apply the faults that act before the request's body is read; return an answer if one of them gives it."""
        for fault in faults:
            match fault.kind:
                case FaultKind.SLOW:
                    await asyncio.sleep(fault.seconds)
                case FaultKind.HANG:
                    self._log(exchange, None)
                    await closed(exchange.request.receive)
                    raise _ConnectionGoneError
                case FaultKind.RESET_BEFORE:
                    self._log(exchange, None)
                    await reset(exchange.request)
                    raise _ConnectionGoneError
                case FaultKind.STATUS:
                    refusal = Refusal(fault.status, fault.code, "a fault", retry_after=fault.retry_after)
                    return self._origin.error_answer(refusal, exchange)
        return None

    async def _send(self, exchange: Exchange, answer: Answer, kinds: set[FaultKind], send: Send) -> None:
        request = exchange.request
        if FaultKind.RESET_AFTER in kinds:
            self._log(exchange, None)
            await reset(request)
            return
        self._log(exchange, answer.status)  # (4)
        if FaultKind.TRUNCATE in kinds:
            await send_half(request, answer, send)
        elif answer.file is not None:
            file = FileResponse(answer.file, answer.status, headers=dict(answer.headers))
            await file(request.scope, request.receive, send)
        else:
            whole = Response(answer.body, answer.status, headers=dict(answer.headers))
            whole.raw_headers = on_the_wire(whole.raw_headers, self._service.unspecified)
            await whole(request.scope, request.receive, send)  # (5)

    def _log(self, exchange: Exchange, status: int | None) -> None:
        self._service.exchanges.add(
            at=self._service.clock.now(),
            origin=self._origin.name,
            call=exchange.endpoint.name,
            status=status,
            request_id=exchange.request_id,
            tenant=exchange.key.tenant if exchange.key else None,
            charged=exchange.charged,
        )


class _ConnectionGoneError(Exception):
    """A fault has closed the connection: no answer can be sent."""
