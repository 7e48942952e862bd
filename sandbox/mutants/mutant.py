"""What a mutant is: the service with one rule of the contract broken, and nothing else."""

from collections.abc import Callable
from dataclasses import dataclass

from starlette.requests import Request

from sandbox.answers import Answer
from sandbox.calls import Exchange, Serve
from sandbox.service import Service

Swap = Callable[[Service], Service]
Ask = Callable[[Request], Request]
Around = Callable[[Serve], Serve]
Edit = Callable[[Service, Exchange, Answer], Answer]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A rule that is broken on some calls, by one of four means.

    Attributes:
        rule: the sentence of the contract that no longer holds, named by its section.
        breaks: what the service does instead.
        on: the calls that are answered wrongly; all of them where none is named.
        ask: reads another request than the one that came.
        swap: puts a part into the service that errs.
        around: does something before or after the call is served.
        edit: changes the whole answer, headers and refusals included, before it is sent.
    """

    rule: str
    breaks: str
    on: tuple[str, ...] = ()
    ask: Ask = lambda request: request
    swap: Swap = lambda service: service
    around: Around = lambda serve: serve
    edit: Edit = lambda _service, _exchange, answer: answer
