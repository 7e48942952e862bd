"""Wrong answers of a service, by call and by kind; Hypothesis draws from them."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from email.utils import formatdate
from typing import Any

from hypothesis import strategies as st

from ..servers.foreign_service import Answer

Fault = Callable[[Answer], Answer]
"""Makes a wrong answer from the usual one."""

HTML = b"<html><body>Oops</body></html>"
RETRY_AFTERS: dict[str, Callable[[], str | None]] = {
    "whole seconds": lambda: "1",
    "zero": lambda: "0",
    "absent": lambda: None,
    "an HTTP date": lambda: formatdate(time.time() + 1, usegmt=True),
    "a fraction": lambda: "0.7",
    "junk": lambda: "soon",
}
"""What a refusal may say about the wait, by its kind."""


def with_facts(**facts: Any) -> Fault:  # noqa: ANN401 - any field of an answer
    return lambda usual: replace(usual, **facts)


def with_members(**members: object) -> Fault:
    return lambda usual: replace(usual, document=usual.document | members)


def with_bytes(found: bytes, put: bytes) -> Fault:
    return lambda usual: replace(usual, document=usual.bytes().replace(found, put))


def throttle_with(kind: str) -> Fault:
    """Refuse with a 429 whose `Retry-After` is of this kind."""

    def refuse(usual: Answer) -> Answer:
        text = RETRY_AFTERS[kind]()
        return replace(usual, status=429, document=HTML, headers={} if text is None else {"Retry-After": text})

    return refuse


STATUSES = {f"status {status}": with_facts(status=status, document=HTML) for status in (302, 404, 413, 422, 500, 503)}
BREAKS = {f"broken {where}": with_facts(breaks=where) for where in ("unanswered", "in_headers", "in_body")}
HOSTILE = {
    "too deep": with_facts(document=b"[" * 900 + b"]" * 900),
    "too long": with_facts(document=b" " * 3_000_000),
    "no UTF-8": with_facts(document=b'{"\xff": 1}'),
    "not a number": with_facts(document=b'{"good": NaN, "verdict": "valid"}'),
    "compressed": with_facts(headers={"Content-Encoding": "gzip"}),
    "longer than it is": with_facts(headers={"content-LENGTH": "999999"}),
    "no header": with_facts(headers={"no header": "\0"}),
}
THROTTLES = {f"a 429, Retry-After: {kind}": throttle_with(kind) for kind in RETRY_AFTERS} | {
    "a long throttle": with_facts(status=429, document=HTML, headers={"Retry-After": "86400"}),
}
REFUSALS = {"a refused key": with_facts(status=403, document={"code": "forbidden"})}
ODD = {
    "another spelling": with_members(verdict="Valid"),
    "good alone": with_members(verdict=""),
    "not good": with_members(good=False),
    "good as text": with_members(good="true"),
    "a list": with_members(verdict=["valid"]),
    "verdict twice": with_bytes(b'"verdict"', b'"good": true, "verdict": "valid", "verdict"'),
    "a deep grade": with_bytes(b'"verdict"', b'"grade": ' + b"[" * 95 + b"]" * 95 + b', "verdict"'),
}
HALF = {"half a slot": with_members(url=None), "no fields": with_members(fields=[1])}
FAULTS: dict[str, list[dict[str, Fault]]] = {
    "uploads": [STATUSES, BREAKS, HOSTILE, THROTTLES, REFUSALS, HALF],
    "slot": [STATUSES, BREAKS, HOSTILE, THROTTLES, REFUSALS],
    "verify": [STATUSES, BREAKS, HOSTILE, THROTTLES, REFUSALS, ODD, ODD],
    "usage": [THROTTLES, REFUSALS],
}
"""By call, the kinds of its faults; each kind is equally likely."""


@dataclass(frozen=True, slots=True)
class Disturbance:
    """A fault of one call: of its request number `first`, and then of one request in `every`."""

    call: str
    name: str
    first: int
    every: int


def disturbances_of(call: str, kind: dict[str, Fault]) -> st.SearchStrategy[Disturbance]:
    """Draw a fault of one kind; the usage is read at the start of a leg, so its first or second call has it."""
    firsts = st.integers(0, 1 if call == "usage" else 7)
    return st.builds(Disturbance, st.just(call), st.sampled_from(sorted(kind)), firsts, st.sampled_from([1, 1, 3, 7]))


DISTURBANCES = st.lists(
    st.one_of([disturbances_of(call, kind) for call, kinds in FAULTS.items() for kind in kinds]),
    max_size=2,
    unique_by=lambda each: each.call,
)
