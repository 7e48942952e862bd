"""An origin: the order in which every request to the API or the storage is dealt with."""

import asyncio
import logging
from typing import Protocol

from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response
from starlette.types import Receive, Scope, Send

from sandbox.answers import Answer, Refused
from sandbox.calls import Calls, Exchange
from sandbox.evolution import evolved
from sandbox.faults import Fault, Kind
from sandbox.service import Service
from sandbox.spoiling import spoiled
from sandbox.wire import gone, reset, send_half
from sandbox.wording import on_the_wire, worded

_log = logging.getLogger("sandbox")


class Desk(Protocol):
    """What one origin knows that the other does not."""

    @property
    def name(self) -> str:
        """Return the origin's name in the record of exchanges."""

    def new_request_id(self) -> str:
        """Return an id in this origin's own form."""

    @property
    def calls(self) -> Calls:
        """Return the calls that this origin serves."""

    def admit(self, exchange: Exchange) -> None:
        """Find out who calls; raise Refused for one that may not pass."""

    def refusal(self, refused: Refused, exchange: Exchange) -> Answer:
        """Write a refusal in this origin's own form."""

    def headers(self, exchange: Exchange, status: int) -> dict[str, str]:
        """Return the headers that an answer of this status bears."""


class Origin:
    """The ASGI application around a desk."""

    def __init__(self, service: Service, desk: Desk) -> None:
        self._service = service
        self._desk = desk

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Deal with one request.

        (1) Admit the caller, (2) let a fault strike or serve, (3) spoil the answer where a fault says so, (4) note the
        exchange, (5) send. The note comes before the answer, so that nobody can hold an id that is not on record.
        """
        exchange = self._begun(Request(scope, receive))
        faults: list[Fault] = []
        try:
            self._desk.admit(exchange)  # (1)
            faults = self._service.faults.drawn(exchange.call.name)
            answer = await self._struck(exchange, faults) or await exchange.call.serve(self._service, exchange)  # (2)
        except Refused as refused:
            answer = self._desk.refusal(refused, exchange)
        except _CutOffError:
            return
        except ClientDisconnect:
            self._note(exchange, None)
            return
        except Exception:  # noqa: BLE001 - a bug of ours is a 500 to the caller, and is logged
            _log.exception("request %s failed", exchange.request_id)
            answer = self._desk.refusal(Refused(500, "internal", "the sandbox failed"), exchange)
        answer = self._worded(answer.with_headers(self._desk.headers(exchange, answer.status)))
        await self._send(exchange, spoiled(answer, faults), {fault.kind for fault in faults}, send)  # (3)

    def _worded(self, answer: Answer) -> Answer:
        """Say what a later release would add, in the words of this sandbox's silences."""
        return worded(evolved(answer) if self._service.is_later_release else answer, self._service.silences)

    def _begun(self, request: Request) -> Exchange:
        raw_path = request.scope["raw_path"].decode("ascii", "replace")
        call, path = self._desk.calls.find(request.method, raw_path)
        return Exchange(request=request, request_id=self._desk.new_request_id(), call=call, path=path)

    async def _struck(self, exchange: Exchange, faults: list[Fault]) -> Answer | None:
        """Let the faults strike that come before the request's body is read."""
        for fault in faults:
            match fault.kind:
                case Kind.SLOW:
                    await asyncio.sleep(fault.seconds)
                case Kind.HANG:
                    self._note(exchange, None)
                    await gone(exchange.request.receive)
                    raise _CutOffError
                case Kind.RESET_BEFORE:
                    self._note(exchange, None)
                    await reset(exchange.request)
                    raise _CutOffError
                case Kind.STATUS:
                    refused = Refused(fault.status, fault.code, "a fault", retry_after=fault.retry_after)
                    return self._desk.refusal(refused, exchange)
        return None

    async def _send(self, exchange: Exchange, answer: Answer, kinds: set[Kind], send: Send) -> None:
        request = exchange.request
        if Kind.RESET_AFTER in kinds:
            self._note(exchange, None)
            await reset(request)
            return
        self._note(exchange, answer.status)  # (4)
        if Kind.TRUNCATE in kinds:
            await send_half(request, answer, send)
        elif answer.file is not None:
            file = FileResponse(answer.file, answer.status, headers=dict(answer.headers))
            await file(request.scope, request.receive, send)
        else:
            whole = Response(answer.body, answer.status, headers=dict(answer.headers))
            whole.raw_headers = on_the_wire(whole.raw_headers, self._service.silences)
            await whole(request.scope, request.receive, send)  # (5)

    def _note(self, exchange: Exchange, status: int | None) -> None:
        self._service.exchanges.note(
            at=self._service.clock.now(),
            origin=self._desk.name,
            call=exchange.call.name,
            status=status,
            request_id=exchange.request_id,
            tenant=exchange.key.tenant if exchange.key else None,
            charged=exchange.charged,
        )


class _CutOffError(Exception):
    """A fault has taken the connection away: there is nobody to answer."""
