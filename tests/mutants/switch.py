"""The mutant switch: the service itself answers, or the mutant that the operator has chosen."""

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from proofsweep_sandbox.answers import Answer
from proofsweep_sandbox.faults.rules import FaultKind
from proofsweep_sandbox.pipeline import Origin, RequestPipeline
from proofsweep_sandbox.routing import Exchange
from proofsweep_sandbox.service import Service

from . import MUTANTS
from .definition import Mutant
from .right import RIGHT
from .wild import WILD

_ALL = MUTANTS | WILD | RIGHT

OriginFactory = Callable[[Service], Origin]


class MutantSwitch:
    """The ASGI application of one origin; without a chosen mutant it only passes requests on.

    Attributes:
        chosen: the name of the mutant that breaks a rule now.
    """

    chosen: ClassVar[str | None] = None

    def __init__(self, service: Service, make_origin: OriginFactory) -> None:
        self._service = service
        self._make_origin = make_origin
        self._pipeline = RequestPipeline(service, make_origin(service))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await self._pipeline_for(scope)(scope, receive, send)

    def framing_answer(self) -> Answer:
        """Return the answer to bytes that are no HTTP/1.1."""
        return self._pipeline.framing_answer()

    def _pipeline_for(self, scope: Scope) -> RequestPipeline:
        if self.chosen is None:
            return self._pipeline
        mutant = _ALL[self.chosen]
        routes = self._make_origin(self._service).routes
        endpoint, _ = routes.find(scope["method"], scope["raw_path"].decode("ascii", "replace"))
        is_broken = not mutant.on or endpoint.name in mutant.on
        return _MutantPipeline(mutant, self._service, self._make_origin) if is_broken else self._pipeline


class _MutantPipeline(RequestPipeline):
    """A pipeline with one broken rule."""

    def __init__(self, mutant: Mutant, service: Service, make_origin: OriginFactory) -> None:
        self._mutant = mutant
        broken = mutant.replace_part(service)
        super().__init__(broken, make_origin(broken))

    def _begun(self, request: Request) -> Exchange:
        exchange = super()._begun(self._mutant.change_request(request))
        exchange.endpoint = replace(exchange.endpoint, serve=self._mutant.wrap_serve(exchange.endpoint.serve))
        return exchange

    async def _send(self, exchange: Exchange, answer: Answer, kinds: set[FaultKind], send: Send) -> None:
        await super()._send(exchange, self._mutant.change_answer(self._service, exchange, answer), kinds, send)
