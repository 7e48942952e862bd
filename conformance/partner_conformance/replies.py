"""Replies, and the exceptions that end a check early. Pure."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from partner_conformance.operations import Operation

# Chosen: a longer request ID is cut in reports; real ones have 36 characters or so.
_MAX_ID_CHARACTERS = 200
# HTTP: failures of the service begin here.
_FIRST_FAILURE_STATUS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One reply of the API, as received."""

    operation: Operation
    status: int
    headers: "Headers"
    body: bytes = field(repr=False)

    @property
    def is_throttled(self) -> bool:
        """Whether this is a 429 (contract, Errors 5)."""
        return self.status == 429  # noqa: PLR2004 - the contract's number

    @property
    def is_error(self) -> bool:
        """Whether this is one of HTTP's errors."""
        return self.status >= 400  # noqa: PLR2004 - HTTP

    @property
    def is_failure(self) -> bool:
        """Whether the service failed: the contract allows that, so it is no answer."""
        return self.status >= _FIRST_FAILURE_STATUS

    @property
    def told_wait_seconds(self) -> float | None:
        """The wait that `Retry-After` tells, in seconds; None if it tells none."""
        text = self.headers.get("Retry-After") or ""
        return float(text) if text.isascii() and text.isdigit() else None

    @property
    def request_id(self) -> str | None:
        """The request ID for a problem report, if the reply has one; control characters are escaped."""
        text = self.headers.get("X-Request-Id") or self.headers.get("x-amzn-requestid") or ""
        shown = (each if each.isprintable() else f"\\x{ord(each):02x}" for each in text[:_MAX_ID_CHARACTERS])
        return "".join(shown) or None

    @property
    def document(self) -> Mapping[str, object]:
        """The body as a JSON object; raises a Violation for any other body."""
        decoded = self._decoded
        if not isinstance(decoded, dict):
            raise Violation(f"{self.operation} answered {self.status} with a body that is not a JSON object", (self,))
        return decoded

    @property
    def members(self) -> Mapping[str, object]:
        """The members of the body; empty if it is not a JSON object."""
        decoded = self._decoded
        return decoded if isinstance(decoded, dict) else {}

    @property
    def _decoded(self) -> object:
        try:
            value: object = json.loads(self.body.decode(), parse_constant=_refuse)
        except (ValueError, RecursionError):
            value = None
        return value


def _refuse(constant: str) -> None:
    """Refuse NaN and Infinity, which Python reads and JSON does not have."""
    raise ValueError(constant)


class Headers:
    """A reply's headers; the case of a name does not matter."""

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        self._values = {name.lower(): value.strip() for name, value in pairs}

    def values(self) -> Iterable[str]:
        """Return all values."""
        return self._values.values()

    def get(self, name: str) -> str | None:
        """Return a header's value, or None."""
        return self._values.get(name.lower())


class _EndsEarlyError(Exception):
    def __init__(self, said: str, replies: Sequence[Reply] = ()) -> None:
        super().__init__(said)
        self.said = said
        self.request_ids = tuple(dict.fromkeys(reply.request_id for reply in replies if reply.request_id))


class Violation(_EndsEarlyError):
    """The service breaks the contract: the finding, and its replies.

    A step that many checks share names itself as the `root`: only the first of its findings is a failure.
    """

    def __init__(self, said: str, replies: Sequence[Reply] = (), *, root: str = "") -> None:
        super().__init__(said, replies)
        self.root = root


class NotTried(_EndsEarlyError):
    """A check cannot run here: it lacks something."""


class OverBudget(NotTried):
    """A check needs more calls than the budget has left."""


class Advice(_EndsEarlyError):
    """The service reads an open sentence in its own way; this is told, and is no violation."""


class NoAnswer(NotTried):
    """A check cannot run now: the service is down, unreachable, or throttled for too long."""


class KeyRefused(_EndsEarlyError):
    """The service refuses the key everywhere: nothing more can be checked with it."""
