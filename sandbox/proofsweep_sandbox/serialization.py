"""Serialization: the same answer in one of the forms that the contract permits. Pure."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

from proofsweep_sandbox.answers import Answer
from proofsweep_sandbox.unspecified import Unspecified

_JSON = "application/json"
_GATEWAY_HEADERS = {"via": "1.1 edge", "cache-control": "no-store", "x-cache": "Miss", "set-cookie": "lb=1; Path=/"}
_dumps = partial(json.dumps, separators=(",", ":"), ensure_ascii=False)
_SPELLINGS: Mapping[str, Callable[[object], str]] = {
    "compact": _dumps,
    "spaced": partial(_dumps, separators=(" , ", " : ")),
    "indented": partial(_dumps, indent="\t", separators=(",", ": ")),
    "ascii": partial(_dumps, ensure_ascii=True),
}


def serialized(answer: Answer, unspecified: Unspecified) -> Answer:
    """Return the answer in the unspecified form of this sandbox; a body other than JSON is kept."""
    if answer.headers.get("content-type") == _JSON:
        headers = {**answer.headers, "content-type": unspecified.content_type}
        answer = replace(answer, body=_spelled(answer.body, unspecified), headers=headers)
    if unspecified.gateway_headers:
        answer = answer.with_headers(_GATEWAY_HEADERS)
    return answer if unspecified.keep_alive else answer.with_headers({"connection": "close"})


def on_the_wire(headers: Iterable[tuple[bytes, bytes]], unspecified: Unspecified) -> list[tuple[bytes, bytes]]:
    """Return the headers in the form in which they are sent; without a Content-Length the body is chunked."""
    sent = [(name, value) for name, value in headers if unspecified.framing == "length" or name != b"content-length"]
    return [(_cased(name, unspecified.header_case), value) for name, value in sent]


def _cased(name: bytes, case: str) -> bytes:
    return {"lower": name.lower(), "title": name.title(), "upper": name.upper()}[case]


def _spelled(body: bytes, unspecified: Unspecified) -> bytes:
    if (unspecified.member_order, unspecified.json_spelling) == ("as_made", "compact"):
        return body
    return _SPELLINGS[unspecified.json_spelling](_ordered(json.loads(body), unspecified.member_order)).encode()


def _ordered(value: object, order: str) -> object:
    """Order the members of every object."""
    if isinstance(value, list):
        return [_ordered(each, order) for each in value]
    if not isinstance(value, dict):
        return value
    members = [(name, _ordered(each, order)) for name, each in value.items()]
    return dict({"as_made": members, "sorted": sorted(members, key=lambda m: m[0]), "reversed": members[::-1]}[order])
