"""Assertions on replies: a failed one raises a Violation with the finding and the request IDs. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from partner_conformance.replies import NoAnswer, Reply, Violation

# Chosen: July 2017, before any time that the service reports; a smaller number is not unix time in seconds.
_EARLIEST_SECONDS = 1_500_000_000
# Chosen: the year 2100; a larger number is probably in milliseconds.
_LATEST_SECONDS = 4_102_444_800

# More digits are no count and no time; they cost much to read.
_MOST_DIGITS = 18
_NAMES = {str: "a string", bool: "a boolean", dict: "an object", list: "an array"}


def expect(holds: object, otherwise: str, *replies: Reply) -> None:
    """Raise a Violation with this text and the request IDs of these replies, unless `holds` is true."""
    if not holds:
        raise Violation(otherwise, replies)


def success_members(reply: Reply) -> Mapping[str, object]:
    """Return the JSON object of a success; raise a Violation for any other reply.

    A service that is down or throttled raises NoAnswer: the contract allows that.
    """
    expected = reply.operation.success
    if reply.is_throttled or reply.is_failure:
        raise NoAnswer(f"{reply.operation} repeatedly answered {reply.status}", (reply,))
    with rooted(str(reply.operation)):
        expect(reply.status == expected, f"{reply.operation} answered {reply.status}, not {expected}", reply)
        return reply.document


@contextmanager
def rooted(root: str) -> Iterator[None]:
    """Name the root of each finding in a step that many checks share."""
    try:
        yield
    except Violation as violation:
        violation.root = violation.root or root
        raise


def text_of(members: Mapping[str, object], name: str, reply: Reply) -> str:
    """Return a member that must be a string."""
    value = members.get(name)
    expect(isinstance(value, str), f"{name} is {_type_of(members, name)}, not a string", reply)
    return str(value)


def flag_of(members: Mapping[str, object], name: str, reply: Reply) -> bool:
    """Return a member that must be a boolean."""
    value = members.get(name)
    expect(isinstance(value, bool), f"{name} is {_type_of(members, name)}, not a boolean", reply)
    return value is True


def object_of(members: Mapping[str, object], name: str, reply: Reply) -> Mapping[str, object]:
    """Return a member that must be an object."""
    value = members.get(name)
    if not isinstance(value, dict):
        raise Violation(f"{name} is {_type_of(members, name)}, not an object", (reply,))
    return value


def objects_of(members: Mapping[str, object], name: str, reply: Reply) -> list[Mapping[str, object]]:
    """Return a member that must be an array of objects."""
    value = members.get(name)
    if not isinstance(value, list):
        raise Violation(f"{name} is {_type_of(members, name)}, not an array", (reply,))
    expect(all(isinstance(each, dict) for each in value), f"{name} has an element that is not an object", reply)
    return value


def number_of(members: Mapping[str, object], name: str, reply: Reply) -> float:
    """Return a member that must be a number."""
    value = members.get(name)
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise Violation(f"{name} is {_type_of(members, name)}, not a number", (reply,))
    return value


def seconds_of(members: Mapping[str, object], name: str, reply: Reply) -> int:
    """Return a member that must be unix time in whole seconds (contract, Resources)."""
    value = members.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise Violation(f"{name} is {_type_of(members, name)}, not a whole number of unix seconds", (reply,))
    expect(_EARLIEST_SECONDS < value < _LATEST_SECONDS, f"{name} is {value}, which is not unix time in seconds", reply)
    return value


def header_number(reply: Reply, name: str) -> int:
    """Return a header that must be a whole number, not negative."""
    text = reply.headers.get(name)
    if text is None:
        raise Violation(f"{reply.operation} answered {reply.status} without {name}", (reply,))
    is_number = text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS
    expect(is_number, f"{name} is {text[:40]!r}, not a whole number", reply)
    return int(text)


def expect_quota_headers(reply: Reply) -> None:
    """Expect the three quota headers, with the reset in unix seconds (contract, Limits)."""
    header_number(reply, "X-RateLimit-Limit")
    header_number(reply, "X-RateLimit-Remaining")
    seconds_of({"X-RateLimit-Reset": header_number(reply, "X-RateLimit-Reset")}, "X-RateLimit-Reset", reply)


def expect_api_error(reply: Reply) -> None:
    """Expect an ApiError as the body."""
    text_of(reply.document, "error", reply)
    expect(text_of(reply.document, "code", reply), "code is empty", reply)


def is_unique(values: Iterable[object]) -> bool:
    """Return whether no value occurs twice."""
    every = list(values)
    return len(every) == len(set(every))


def _type_of(members: Mapping[str, object], name: str) -> str:
    """Name the type of a member; its value may be a secret and is not shown."""
    if name not in members:
        return "absent"
    value = members[name]
    return "null" if value is None else _NAMES.get(type(value), "a number")


def texts_in(value: object) -> Iterator[str]:
    """Yield every string in a document, but no name of a member."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts_in(each)


def links_in(value: object) -> list[str]:
    """Return every URL in a document."""
    return [text for text in texts_in(value) if text.startswith(("http://", "https://"))]
