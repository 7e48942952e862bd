"""The request pipeline: the steps that every request to the API or to the storage target goes through."""

import asyncio
import logging

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from proofsweep_sandbox.answers import Answer, Refusal
from proofsweep_sandbox.api.gateway import ApiGateway
from proofsweep_sandbox.faults import Fault, FaultKind, with_faults
from proofsweep_sandbox.routing import Exchange, routed
from proofsweep_sandbox.service import Service
from proofsweep_sandbox.storage import StorageTarget
from proofsweep_sandbox.wire import closed, send_half

_logger = logging.getLogger("sandbox")


class RequestPipeline:
    def __init__(self, service: Service, origin: ApiGateway | StorageTarget) -> None:
        self._service = service
        self._origin = origin

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request.

        (1) Admit the caller, (2) apply the early faults or serve, (3) apply the faults of the answer, (4) log the
        exchange, (5) send. The log comes before the answer: a client never has a request ID that is not in the log.
        """
        raw_path = scope["raw_path"].decode("ascii", "replace")
        endpoint, path = routed(self._origin.endpoints, scope["method"], raw_path)
        request = Request(scope, receive)
        exchange = Exchange(request=request, request_id=self._origin.new_request_id(), endpoint=endpoint, path=path)
        faults: list[Fault] = []
        try:
            self._origin.admit(exchange)  # (1)
            faults = self._service.faults.drawn(exchange.endpoint.name)
            early = await self._early_fault(exchange, faults)
            answer = early or await endpoint.serve(self._service, exchange)  # (2)
        except Refusal as refusal:
            answer = self._origin.error_answer(refusal, exchange)
        except _ConnectionGoneError:
            return
        except ClientDisconnect:
            self._log(exchange, None)
            return
        except Exception:
            # A mistake of the sandbox is a 500, as of any service, and no connection that is lost.
            _logger.exception("request %s failed", exchange.request_id)
            failure = Refusal(500, "internal", "the sandbox failed")
            answer = self._origin.error_answer(failure, exchange)
        answer = answer.with_headers(self._origin.headers(exchange, answer.status))
        kinds = {fault.kind for fault in faults}
        await self._send(exchange, with_faults(answer, faults), kinds, send)  # (3)

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
                case FaultKind.STATUS:
                    refusal = Refusal(fault.status, fault.code, "a fault", retry_after=fault.retry_after)
                    return self._origin.error_answer(refusal, exchange)
        return None

    async def _send(self, exchange: Exchange, answer: Answer, kinds: set[FaultKind], send: Send) -> None:
        request = exchange.request
        self._log(exchange, answer.status)  # (4)
        if FaultKind.TRUNCATE in kinds:
            await send_half(request, answer, send)
        else:
            whole = Response(answer.body, answer.status, dict(answer.headers))
            await whole(request.scope, request.receive, send)  # (5)

    def _log(self, exchange: Exchange, status: int | None) -> None:
        tenant = exchange.key.tenant if exchange.key else None
        self._service.exchanges.add(
            at=self._service.clock.now(),
            origin=self._origin.name,
            call=exchange.endpoint.name,
            status=status,
            request_id=exchange.request_id,
            tenant=tenant,
            charged=exchange.charged,
        )


class _ConnectionGoneError(Exception):
    """A fault has closed the connection: no answer can be sent."""
