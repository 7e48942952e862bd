"""The calls that an origin knows, and the exchanges in which they are made."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import unquote

from starlette.requests import Request

from sandbox.answers import Answer, Refused
from sandbox.registry.keys import Key
from sandbox.service import Service

Serve = Callable[[Service, "Exchange"], Awaitable[Answer]]


@dataclass(frozen=True, kw_only=True)
class Call:
    """One endpoint; `name` is what faults, latencies and the record of exchanges call it.

    A self-service call tells the quota in its headers; `lane` is the throttle lane that it runs in.
    """

    name: str
    method: str
    path: str
    serve: Serve
    is_public: bool = False
    is_self_service: bool = False
    lane: str = "calls"

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Match a path as it came over the wire, percent-encoded: an encoded slash parts no segments."""
        return re.compile(re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", self.path))


@dataclass(slots=True, kw_only=True)
class Exchange:
    """A request, the id it was given, the call it was found to be, and the key that made it once that is known.

    It is `charged` once its key's meter has counted it.
    """

    request: Request
    request_id: str
    call: Call
    path: dict[str, str] = field(default_factory=dict)
    key: Key | None = None
    charged: bool = False

    @property
    def caller(self) -> Key:
        """The key that made this call; to ask for it on a public call is a mistake in our code."""
        if self.key is None:
            raise LookupError(f"{self.call.name} has no caller")
        return self.key


@dataclass(frozen=True, slots=True)
class Calls:
    """All calls of one origin."""

    known: tuple[Call, ...]

    def find(self, method: str, raw_path: str) -> tuple[Call, dict[str, str]]:
        """Return the call and the parameters in its path; a call that refuses stands for whatever is not known."""
        matches = [(call, match) for call in self.known if (match := call.pattern.fullmatch(raw_path))]
        for call, match in matches:
            if call.method == method:
                return call, {name: unquote(value) for name, value in match.groupdict().items()}
        return (_WRONG_METHOD if matches else _UNKNOWN), {}


async def _refuse_path(service: Service, exchange: Exchange) -> Answer:
    status, _ = service.silences.unknown_path
    raise Refused(status, "not_found", f"there is nothing at {exchange.request.url.path}")


async def _refuse_method(service: Service, exchange: Exchange) -> Answer:
    _, status = service.silences.unknown_path
    raise Refused(status, "method_not_allowed", f"{exchange.request.method} is not a method of this resource")


_UNKNOWN = Call(name="unknown", method="", path="", serve=_refuse_path)
_WRONG_METHOD = Call(name="unknown", method="", path="", serve=_refuse_method)
