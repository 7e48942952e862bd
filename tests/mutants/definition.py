"""What a mutant is: the service with one broken rule of the contract."""

from collections.abc import Callable
from dataclasses import dataclass

from starlette.requests import Request

from proofsweep_sandbox.answers import Answer
from proofsweep_sandbox.routing import Exchange, Serve
from proofsweep_sandbox.service import Service

RequestChange = Callable[[Request], Request]
PartReplacement = Callable[[Service], Service]
ServeWrapper = Callable[[Serve], Serve]
AnswerChange = Callable[[Service, Exchange, Answer], Answer]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One broken rule, broken by one of four kinds of change.

    Attributes:
        rule: the name of the check that must fail; empty if no check was written for it.
        breaks: what the service does instead.
        on: the endpoints that break the rule; all of them if empty.
        change_request: changes the request before the service reads it.
        replace_part: puts a broken part into the service.
        wrap_serve: acts before or after the endpoint serves the call.
        change_answer: changes the finished answer, which may be a refusal.
    """

    rule: str = ""
    breaks: str = ""
    on: tuple[str, ...] = ()
    change_request: RequestChange = lambda request: request
    replace_part: PartReplacement = lambda service: service
    wrap_serve: ServeWrapper = lambda serve: serve
    change_answer: AnswerChange = lambda _service, _exchange, answer: answer
