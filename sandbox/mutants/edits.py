"""The small changes of which mutants are made: to the members and headers of an answer, and to what a request asks."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, urlencode

from starlette.requests import Request

from sandbox.answers import Answer, json_answer
from sandbox.calls import Exchange
from sandbox.mutants.mutant import Ask, Edit
from sandbox.service import Service

Members = dict[str, Any]
Retell = Callable[[Members], object]

_ERRORS = 400


def told(**members: object) -> Edit:
    """Set members of every success."""
    return retold(lambda answer: answer.update(members))


def untold(*names: str) -> Edit:
    """Leave members out of every success."""
    return retold(lambda answer: [answer.pop(name, None) for name in names])


def retold(retell: Retell) -> Edit:
    """Change the members of every success, in place."""
    return _edited(lambda answer: answer.status < _ERRORS, retell)


def retold_error(retell: Retell, status: int | None = None) -> Edit:
    """Change the members of every error, or of those with a status."""
    return _edited(lambda answer: answer.status >= _ERRORS and status in {None, answer.status}, retell)


def restatus(status: int, other: int, *, where: Callable[[Exchange], bool] = lambda _: True) -> Edit:
    """Answer with another status in the place of one."""

    def edit(_service: Service, exchange: Exchange, answer: Answer) -> Answer:
        return replace(answer, status=other) if answer.status == status and where(exchange) else answer

    return edit


def refused(status: int) -> Edit:
    """Answer with an error, whatever was asked."""

    def edit(_service: Service, _exchange: Exchange, answer: Answer) -> Answer:
        return json_answer({"error": "not here", "code": "internal"}, status).with_headers(answer.headers)

    return edit


def with_header(name: str, value: str | None, *, status: int | None = None) -> Edit:
    """Set a header, or leave it out where the value is None, on all answers or on those with a status."""

    def edit(_service: Service, _exchange: Exchange, answer: Answer) -> Answer:
        if status not in {None, answer.status}:
            return answer
        kept = {each: text for each, text in answer.headers.items() if each != name}
        return replace(answer, headers=kept if value is None else {**kept, name: value})

    return edit


def asking(change: Callable[[dict[str, str]], object]) -> Ask:
    """Change the query of a request, in place."""

    def ask(request: Request) -> Request:
        query = dict(parse_qsl(request.scope["query_string"].decode()))
        change(query)
        return Request({**request.scope, "query_string": urlencode(query).encode()}, request.receive)

    return ask


def instead(name: str, of: str | None, value: str) -> Ask:
    """Read one value of a query's parameter as another; `of` None is where it is absent."""

    def change(query: dict[str, str]) -> None:
        if query.get(name) == of:
            query[name] = value

    return asking(change)


def with_request_header(name: str, change: Callable[[str | None], str | None]) -> Ask:
    """Change a header of a request."""

    def ask(request: Request) -> Request:
        value = change(request.headers.get(name))
        headers = [(each, text) for each, text in request.scope["headers"] if each != name.encode()]
        headers += [] if value is None else [(name.encode(), value.encode())]
        return Request({**request.scope, "headers": headers}, request.receive)

    return ask


def _edited(applies: Callable[[Answer], bool], retell: Retell) -> Edit:
    def edit(_service: Service, _exchange: Exchange, answer: Answer) -> Answer:
        if not applies(answer) or not answer.body:
            return answer
        members = json.loads(answer.body)
        retell(members)
        return replace(answer, body=json_answer(members).body)

    return edit
