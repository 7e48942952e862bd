"""The understudy: an origin that plays as it is written, or as the mutant that the operator names."""

from collections.abc import Callable
from dataclasses import replace

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from sandbox.answers import Answer
from sandbox.calls import Exchange
from sandbox.faults import Kind
from sandbox.mutants import MUTANTS
from sandbox.mutants.mutant import Mutant
from sandbox.origin import Desk, Origin
from sandbox.service import Service

DeskFor = Callable[[Service], Desk]


class Understudy:
    """The ASGI application in front of an origin; while no mutant is named it is the origin itself."""

    def __init__(self, service: Service, desk_for: DeskFor) -> None:
        self._service = service
        self._desk_for = desk_for
        self._origin = Origin(service, desk_for(service))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Deal with one request."""
        await self._origin_for(scope)(scope, receive, send)

    def _origin_for(self, scope: Scope) -> Origin:
        mutant = MUTANTS.get(self._service.mutant)
        if mutant is None:
            return self._origin
        calls = self._desk_for(self._service).calls
        call, _ = calls.find(scope["method"], scope["raw_path"].decode("ascii", "replace"))
        is_meant = not mutant.on or call.name in mutant.on
        return _MutantOrigin(mutant, self._service, self._desk_for) if is_meant else self._origin


class _MutantOrigin(Origin):
    """An origin with one rule broken."""

    def __init__(self, mutant: Mutant, service: Service, desk_for: DeskFor) -> None:
        self._mutant = mutant
        erring = mutant.swap(service)
        super().__init__(erring, desk_for(erring))

    def _begun(self, request: Request) -> Exchange:
        exchange = super()._begun(self._mutant.ask(request))
        exchange.call = replace(exchange.call, serve=self._mutant.around(exchange.call.serve))
        return exchange

    async def _send(self, exchange: Exchange, answer: Answer, kinds: set[Kind], send: Send) -> None:
        await super()._send(exchange, self._mutant.edit(self._service, exchange, answer), kinds, send)
