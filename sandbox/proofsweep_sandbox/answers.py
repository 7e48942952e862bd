"""The answer to a request, and the refusal that an endpoint may raise instead."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One response before it is sent; if `file` is set, it is sent instead of `body`."""

    status: int = 200
    body: bytes = b""
    file: Path | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def with_headers(self, headers: Mapping[str, str]) -> "Answer":
        """Return this answer with more headers; existing headers are kept."""
        return replace(self, headers={**headers, **self.headers})


def json_answer(members: Mapping[str, object], status: int = 200) -> Answer:
    """Return an answer with one JSON object as its body."""
    body = json.dumps(members, ensure_ascii=False, separators=(",", ":")).encode()
    return Answer(status=status, body=body, headers={"content-type": "application/json"})


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
        """The headers of the refusal itself."""
        return {} if self.retry_after is None else {"retry-after": str(self.retry_after)}


def malformed(error: str) -> Refusal:
    """Return the refusal of a malformed request."""
    return Refusal(400, "invalid_request", error)


def not_found(error: str) -> Refusal:
    """Return the refusal of a request for an unknown resource."""
    return Refusal(404, "not_found", error)
