"""Judging what came over the wire: a complaint names what was seen and the request IDs. Pure."""

from collections.abc import Iterable, Mapping

from conformance.replies import NoAnswer, Reply, Violation

_EARLIEST = 1_500_000_000
"""July 2017: no service speaks of times before; a smaller number is not unix time in seconds."""
_LATEST = 4_102_444_800
"""The year 2100: a larger number is not in seconds, but most likely in milliseconds."""

_NO_ANSWERS = {429, 500, 502, 503, 504}
_NAMES = {str: "a string", bool: "a boolean", dict: "an object", list: "an array"}


def expect(holds: object, otherwise: str, *replies: Reply) -> None:
    """Complain with these words, and the request IDs of these replies, where something does not hold."""
    if not holds:
        raise Violation(otherwise, replies)


def success_members(reply: Reply) -> Mapping[str, object]:
    """Give the JSON object of a success; complain where the reply is none.

    A service that is down or throttles is not blamed for it: that is documented, and no answer.
    """
    expected = reply.operation.success
    if reply.status in _NO_ANSWERS:
        raise NoAnswer(f"{reply.operation} answers {reply.status} again and again", (reply,))
    expect(reply.status == expected, f"{reply.operation} answered {reply.status}, not {expected}", reply)
    return reply.document


def expect_status(reply: Reply, status: int, occasion: str) -> None:
    """Complain unless a request was refused with this status."""
    expect(reply.status == status, f"{reply.operation} {occasion} answered {reply.status}, not {status}", reply)


def text_of(members: Mapping[str, object], name: str, reply: Reply) -> str:
    """Give a member that must be a string."""
    value = members.get(name)
    expect(isinstance(value, str), f"{name} is {_told(members, name)}, not a string", reply)
    return str(value)


def flag_of(members: Mapping[str, object], name: str, reply: Reply) -> bool:
    """Give a member that must be a boolean."""
    value = members.get(name)
    expect(isinstance(value, bool), f"{name} is {_told(members, name)}, not a boolean", reply)
    return value is True


def object_of(members: Mapping[str, object], name: str, reply: Reply) -> Mapping[str, object]:
    """Give a member that must be an object."""
    value = members.get(name)
    if not isinstance(value, dict):
        raise Violation(f"{name} is {_told(members, name)}, not an object", (reply,))
    return value


def objects_of(members: Mapping[str, object], name: str, reply: Reply) -> list[Mapping[str, object]]:
    """Give a member that must be an array of objects."""
    value = members.get(name)
    if not isinstance(value, list):
        raise Violation(f"{name} is {_told(members, name)}, not an array", (reply,))
    expect(all(isinstance(each, dict) for each in value), f"{name} holds what is no object", reply)
    return value


def number_of(members: Mapping[str, object], name: str, reply: Reply) -> float:
    """Give a member that must be a number."""
    value = members.get(name)
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise Violation(f"{name} is {_told(members, name)}, not a number", (reply,))
    return value


def seconds_of(members: Mapping[str, object], name: str, reply: Reply) -> int:
    """Give a member that must be unix time in whole seconds (contract, Resources: all timestamps)."""
    value = members.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise Violation(f"{name} is {_told(members, name)}, not a whole number of unix seconds", (reply,))
    expect(_EARLIEST < value < _LATEST, f"{name} is {value}, which is no unix time in seconds", reply)
    return value


def header_number(reply: Reply, name: str) -> int:
    """Give a header that must be a whole number, not below 0."""
    text = reply.headers.get(name)
    if text is None:
        raise Violation(f"{reply.operation} answered {reply.status} without {name}", (reply,))
    expect(text.isascii() and text.isdigit(), f"{name} is {text[:40]!r}, not a whole number", reply)
    return int(text)


def expect_quota_headers(reply: Reply) -> None:
    """Complain unless the reply tells quota, headroom and reset, the last in unix seconds (contract, Limits)."""
    header_number(reply, "X-RateLimit-Limit")
    header_number(reply, "X-RateLimit-Remaining")
    seconds_of({"X-RateLimit-Reset": header_number(reply, "X-RateLimit-Reset")}, "X-RateLimit-Reset", reply)


def expect_api_error(reply: Reply) -> None:
    """Complain unless the body is an ApiError."""
    text_of(reply.document, "error", reply)
    expect(text_of(reply.document, "code", reply), "code is empty", reply)


def is_unique(values: Iterable[object]) -> bool:
    """Say whether nothing is there twice."""
    held = list(values)
    return len(held) == len(set(held))


def _told(members: Mapping[str, object], name: str) -> str:
    """Say what kind of thing a member is; values may be secrets, so that they are not shown."""
    if name not in members:
        return "absent"
    value = members[name]
    return "null" if value is None else _NAMES.get(type(value), "a number")
