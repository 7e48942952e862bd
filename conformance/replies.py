"""Replies, and the two ways in which a check ends early. Pure."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from conformance.operations import Operation

_LONGEST_ID = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer of the API as it came; names of headers are in lower case."""

    operation: Operation
    status: int
    headers: "Headers"
    body: bytes = field(repr=False)

    @property
    def request_id(self) -> str | None:
        """What support asks for, where the reply has it."""
        return (self.headers.get("X-Request-Id") or self.headers.get("x-amzn-requestid") or "")[:_LONGEST_ID] or None

    @property
    def document(self) -> Mapping[str, object]:
        """The body as a JSON object; complain where it is none."""
        decoded = self._decoded
        if not isinstance(decoded, dict):
            raise Violation(f"{self.operation} answered {self.status} with a body that is no JSON object", (self,))
        return decoded

    @property
    def members(self) -> Mapping[str, object]:
        """The members of the body, none where it is no JSON object."""
        decoded = self._decoded
        return decoded if isinstance(decoded, dict) else {}

    @property
    def _decoded(self) -> object:
        try:
            value: object = json.loads(self.body)
        except (ValueError, RecursionError):
            value = None
        return value


class Headers:
    """A reply's headers, whatever letters their names are in."""

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        self._values = {name.lower(): value.strip() for name, value in pairs}

    def get(self, name: str) -> str | None:
        """Give a header's value, None where there is no such header."""
        return self._values.get(name.lower())


class _EndsEarlyError(Exception):
    def __init__(self, said: str, replies: Sequence[Reply] = ()) -> None:
        super().__init__(said)
        self.said = said
        self.request_ids = tuple(dict.fromkeys(reply.request_id for reply in replies if reply.request_id))


class Violation(_EndsEarlyError):
    """The service does not do what the contract says: what was seen, and in which replies."""


class NotTried(_EndsEarlyError):
    """A check cannot be made here: something that it needs is not there."""


class NoAnswer(NotTried):
    """A check cannot be made now: the service is down, cannot be reached, or throttles for too long."""
