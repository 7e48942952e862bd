"""Routing: from a request to its endpoint. An exchange is one request with what is known about it."""

import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from urllib.parse import unquote

from starlette.requests import Request

from proofsweep_sandbox.answers import Answer, Refusal, malformed
from proofsweep_sandbox.registry.keys import Key
from proofsweep_sandbox.service import Service

Serve = Callable[[Service, "Exchange"], Awaitable[Answer]]


@dataclass(frozen=True)
class Endpoint:
    """One endpoint.

    Attributes:
        name: its name in faults and in the exchange log, where the member is `call`.
        serve: answers a request, or raises Refusal.
        is_public: whether it needs no key.
        is_self_service: whether its answers carry the quota headers.
        lane: the throttle lane of its calls.
    """

    name: str
    method: str
    path: str
    serve: Serve
    _: KW_ONLY
    is_public: bool = False
    is_self_service: bool = False
    lane: str = "calls"

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The pattern of a raw, percent-encoded path: an encoded slash does not separate segments."""
        segments = re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", self.path)
        return re.compile(segments)


@dataclass(slots=True, kw_only=True)
class Exchange:
    """One request, its request ID, its endpoint and, after authentication, its key.

    `charged` says whether the key's meter has counted it.
    """

    request: Request
    request_id: str
    endpoint: Endpoint
    path: dict[str, str] = field(default_factory=dict)
    key: Key | None = None
    charged: bool = False

    @property
    def caller(self) -> Key:
        """The key of this request; raises LookupError on a public endpoint."""
        if self.key is None:
            raise LookupError(f"{self.endpoint.name} is public: it has no caller")
        return self.key

    def whole_number(self, name: str, highest: int, default: int) -> int:
        """Return a query parameter from 1 to `highest`, or its default if it is absent; otherwise raise a 400."""
        text = self.request.query_params.get(name)
        if text is None:
            return default
        # A number of thousands of digits is not even read: Python refuses to.
        digits = text.lstrip("0")
        is_number = text.isascii() and text.isdigit()
        is_short = len(digits) <= len(str(highest))
        if not is_number or not is_short or not 1 <= int(digits or 0) <= highest:
            raise malformed(f"{name} is a whole number from 1 to {highest}")
        return int(digits)


def routed(endpoints: Iterable[Endpoint], method: str, raw_path: str) -> tuple[Endpoint, dict[str, str]]:
    """Return the endpoint and its path parameters; an unknown one gets an endpoint that always refuses."""
    refusing = _UNKNOWN
    for endpoint in endpoints:
        match = endpoint.pattern.fullmatch(raw_path)
        if match is None:
            continue
        if endpoint.method == method:
            parts = match.groupdict()
            return endpoint, {name: unquote(part) for name, part in parts.items()}
        refusing = _WRONG_METHOD
    return refusing, {}


async def _refuse_path(_service: Service, exchange: Exchange) -> Answer:
    raise Refusal(404, "not_found", f"there is nothing at {exchange.request.url.path}")


async def _refuse_method(_service: Service, exchange: Exchange) -> Answer:
    raise Refusal(405, "method_not_allowed", f"{exchange.request.method} is not a method of this resource")


_UNKNOWN = Endpoint("unknown", "", "", _refuse_path)
_WRONG_METHOD = Endpoint("unknown", "", "", _refuse_method)
