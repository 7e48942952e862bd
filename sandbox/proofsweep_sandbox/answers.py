"""The answer to a request, and the refusal that an endpoint may raise instead; and JSON, both ways."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One response before it is sent."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    def with_headers(self, headers: Mapping[str, str]) -> "Answer":
        return replace(self, headers={**headers, **self.headers})


def json_answer(members: Mapping[str, object], status: int = 200) -> Answer:
    body = json.dumps(members, ensure_ascii=False, separators=(",", ":")).encode()
    return Answer(status=status, body=body, headers={"content-type": "application/json"})


def decoded(text: bytes) -> object:
    """Decode JSON; raise ValueError for invalid JSON and for JSON that cannot be stored."""
    try:
        value: object = json.loads(text)
        # A lone surrogate is legal in JSON, but has no UTF-8 form.
        json.dumps(value, ensure_ascii=False).encode()
    except RecursionError as error:  # very deep nesting exhausts the stack
        raise ValueError("the JSON is nested too deeply") from error
    return value


class Refusal(Exception):
    """The refusal of a request: the status, the stable code and a message for a person."""

    def __init__(self, status: int, code: str, error: str, *, retry_after: int | None = None) -> None:
        super().__init__(status, code, error)
        self.status = status
        self.code = code
        self.error = error
        self.retry_after = retry_after

    @property
    def headers(self) -> dict[str, str]:
        if self.retry_after is None:
            return {}
        return {"retry-after": str(self.retry_after)}


def malformed(error: str) -> Refusal:
    return Refusal(400, "invalid_request", error)


def not_found(error: str) -> Refusal:
    return Refusal(404, "not_found", error)
