"""The small changes that mutants consist of: to the answer's members, status and headers, and to the request."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, urlencode

from starlette.requests import Request

from proofsweep_sandbox.answers import Answer, json_answer
from proofsweep_sandbox.routing import Exchange
from proofsweep_sandbox.service import Service

from .definition import AnswerChange, RequestChange

Members = dict[str, Any]
MembersChange = Callable[[Members], object]

# HTTP: errors begin at this status.
_FIRST_ERROR_STATUS = 400


def set_members(**members: object) -> AnswerChange:
    """Set members of every success."""
    return change_success(lambda answer: answer.update(members))


def without_members(*names: str) -> AnswerChange:
    """Remove members from every success."""
    return change_success(lambda answer: [answer.pop(name, None) for name in names])


def change_success(change: MembersChange) -> AnswerChange:
    """Change the members of every success, in place."""
    return _change_members(lambda answer: answer.status < _FIRST_ERROR_STATUS, change)


def change_error(change: MembersChange, status: int | None = None) -> AnswerChange:
    """Change the members of every error, or of every error with this status."""
    return _change_members(
        lambda answer: answer.status >= _FIRST_ERROR_STATUS and status in {None, answer.status}, change
    )


def change_status(status: int, other: int, *, where: Callable[[Exchange], bool] = lambda _: True) -> AnswerChange:
    """Replace one status by another."""

    def change_answer(_service: Service, exchange: Exchange, answer: Answer) -> Answer:
        return replace(answer, status=other) if answer.status == status and where(exchange) else answer

    return change_answer


def answer_error(status: int) -> AnswerChange:
    """Replace every answer by an error."""

    def change_answer(_service: Service, _exchange: Exchange, answer: Answer) -> Answer:
        return json_answer({"error": "not here", "code": "internal"}, status).with_headers(answer.headers)

    return change_answer


def set_header(name: str, value: str | None, *, status: int | None = None) -> AnswerChange:
    """Set a header, or remove it if the value is None, on all answers or on those with this status."""

    def change_answer(_service: Service, _exchange: Exchange, answer: Answer) -> Answer:
        if status not in {None, answer.status}:
            return answer
        kept = {each: text for each, text in answer.headers.items() if each != name}
        return replace(answer, headers=kept if value is None else {**kept, name: value})

    return change_answer


def change_query(change: Callable[[dict[str, str]], object]) -> RequestChange:
    """Change the query of a request, in place."""

    def change_request(request: Request) -> Request:
        query = dict(parse_qsl(request.scope["query_string"].decode()))
        change(query)
        return Request({**request.scope, "query_string": urlencode(query).encode()}, request.receive)

    return change_request


def replace_query_value(name: str, old: str | None, new: str) -> RequestChange:
    """Replace one value of a query parameter by another; an old value of None means an absent parameter."""

    def change(query: dict[str, str]) -> None:
        if query.get(name) == old:
            query[name] = new

    return change_query(change)


def change_request_header(name: str, change: Callable[[str | None], str | None]) -> RequestChange:
    """Change a header of a request."""

    def change_request(request: Request) -> Request:
        value = change(request.headers.get(name))
        headers = [(each, text) for each, text in request.scope["headers"] if each != name.encode()]
        headers += [] if value is None else [(name.encode(), value.encode())]
        return Request({**request.scope, "headers": headers}, request.receive)

    return change_request


def with_verdict(verdict: str, other: str) -> AnswerChange:
    """Replace one verdict by another, and set `good` to match."""

    def change(members: Members) -> None:
        if members["verdict"] == verdict:
            members.update(verdict=other, good=other == "valid")

    return change_success(change)


def _change_members(applies: Callable[[Answer], bool], change: MembersChange) -> AnswerChange:
    def change_answer(_service: Service, _exchange: Exchange, answer: Answer) -> Answer:
        if not applies(answer) or "json" not in answer.headers.get("content-type", ""):
            return answer
        members = json.loads(answer.body)
        change(members)
        return replace(answer, body=json_answer(members).body)

    return change_answer
