"""Wording: one and the same answer, written as the silences have it. Pure."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

from sandbox.answers import Answer
from sandbox.unspecified import Unspecified

_OWN = "application/json"
_GATEWAY = {"via": "1.1 edge", "cache-control": "no-store", "x-cache": "Miss", "set-cookie": "lb=1; Path=/"}
_dumps = partial(json.dumps, separators=(",", ":"), ensure_ascii=False)
_SPELLINGS: Mapping[str, Callable[[object], str]] = {
    "compact": _dumps,
    "spaced": partial(_dumps, separators=(" , ", " : ")),
    "indented": partial(_dumps, indent="\t", separators=(",", ": ")),
    "ascii": partial(_dumps, ensure_ascii=True),
}


def serialized(answer: Answer, silences: Unspecified) -> Answer:
    """Return the answer in the words of these silences; what is no JSON keeps its body."""
    if answer.headers.get("content-type") == _OWN:
        headers = {**answer.headers, "content-type": silences.content_type}
        answer = replace(answer, body=_spelled(answer.body, silences), headers=headers)
    if silences.gateway_headers:
        answer = answer.with_headers(_GATEWAY)
    return answer if silences.keep_alive else answer.with_headers({"connection": "close"})


def on_the_wire(headers: Iterable[tuple[bytes, bytes]], silences: Unspecified) -> list[tuple[bytes, bytes]]:
    """Return headers as they are sent; without a length the body is chunked."""
    sent = [(name, value) for name, value in headers if silences.framing == "length" or name != b"content-length"]
    return [(_cased(name, silences.header_case), value) for name, value in sent]


def _cased(name: bytes, case: str) -> bytes:
    return {"lower": name.lower(), "title": name.title(), "upper": name.upper()}[case]


def _spelled(body: bytes, silences: Unspecified) -> bytes:
    if (silences.member_order, silences.json_spelling) == ("as_made", "compact"):
        return body
    return _SPELLINGS[silences.json_spelling](_ordered(json.loads(body), silences.member_order)).encode()


def _ordered(value: object, order: str) -> object:
    """Put the members of every object into an order."""
    if isinstance(value, list):
        return [_ordered(each, order) for each in value]
    if not isinstance(value, dict):
        return value
    members = [(name, _ordered(each, order)) for name, each in value.items()]
    return dict({"as_made": members, "sorted": sorted(members, key=lambda m: m[0]), "reversed": members[::-1]}[order])
