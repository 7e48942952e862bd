"""What a service may answer and should not, by call and by kind; Hypothesis draws from it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

Says = Any
Fault = Callable[[Says], Says]

HTML = b"<html><body>Oops</body></html>"


def saying(**facts: Any) -> Fault:  # noqa: ANN401 - whatever an answer has
    """Answer something else in places."""
    return lambda usual: replace(usual, **facts)


def telling(**members: object) -> Fault:
    """Change members of what would be answered."""
    return lambda usual: replace(usual, document=usual.document | members)


def spelling(found: bytes, put: bytes) -> Fault:
    """Change the bytes of what would be answered."""
    return lambda usual: replace(usual, document=usual.bytes().replace(found, put))


STATUSES = {f"a storm of {status}": saying(status=status, document=HTML) for status in (302, 404, 413, 422, 500, 503)}
BREAKS = {f"broken {where}": saying(breaks=where) for where in ("unanswered", "in_headers", "in_body")}
HOSTILE = {
    "too deep": saying(document=b"[" * 900 + b"]" * 900),
    "too long": saying(document=b" " * 3_000_000),
    "no UTF-8": saying(document=b'{"\xff": 1}'),
    "not a number": saying(document=b'{"good": NaN, "verdict": "valid"}'),
    "compressed": saying(headers={"Content-Encoding": "gzip"}),
    "longer than it is": saying(headers={"content-LENGTH": "999999"}),
    "no header": saying(headers={"no header": "\0"}),
}
THROTTLES = {
    "a throttle": saying(status=429, document=HTML, headers={"Retry-After": "0"}),
    "a long throttle": saying(status=429, document=HTML, headers={"Retry-After": "86400"}),
}
REFUSALS = {"a refused key": saying(status=403, document={"code": "forbidden"})}
ODD = {
    "another spelling": telling(verdict="Valid"),
    "good alone": telling(verdict=""),
    "not good": telling(good=False),
    "good as text": telling(good="true"),
    "a list": telling(verdict=["valid"]),
    "two minds": spelling(b'"verdict"', b'"good": true, "verdict": "valid", "verdict"'),
    "a deep grade": spelling(b'"verdict"', b'"grade": ' + b"[" * 95 + b"]" * 95 + b', "verdict"'),
}
HALF = {"half a slot": telling(url=None), "no fields": telling(fields=[1])}
FAULTS: dict[str, list[dict[str, Fault]]] = {
    "uploads": [STATUSES, BREAKS, HOSTILE, THROTTLES, REFUSALS, HALF],
    "slot": [STATUSES, BREAKS, HOSTILE, THROTTLES, REFUSALS],
    "verify": [STATUSES, BREAKS, HOSTILE, THROTTLES, REFUSALS, ODD, ODD],
    "usage": [THROTTLES, REFUSALS],
}
"""By call, of several kinds; each kind is drawn as often as any other."""


@dataclass(frozen=True, slots=True)
class Disturbance:
    """A fault of one call: from its `first`th on, and then of every so many."""

    call: str
    name: str
    first: int
    every: int


def disturbances_of(call: str, kind: dict[str, Fault]) -> st.SearchStrategy[Disturbance]:
    """Draw one of a kind; of the usage, which is asked first of all, the first call or the second."""
    firsts = st.integers(0, 1 if call == "usage" else 7)
    return st.builds(Disturbance, st.just(call), st.sampled_from(sorted(kind)), firsts, st.sampled_from([1, 1, 3, 7]))


DISTURBANCES = st.lists(
    st.one_of([disturbances_of(call, kind) for call, kinds in FAULTS.items() for kind in kinds]),
    max_size=2,
    unique_by=lambda each: each.call,
)
