"""Read the members of an answer leniently: a mistyped member is absent and never raises."""

import json
import math
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated, NoReturn

from pydantic import BeforeValidator

# Deepest nesting of an answer that is read, since writing it again is recursive.
_MAX_LEVELS = 100

# 9999-12-31T23:59:59Z, the last second that a datetime can hold.
_LAST_EPOCH_SECOND = 253_402_300_799


def text_of(value: object) -> str | None:
    """Keep text, with `?` for what UTF-8 cannot hold; anything else is absent."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else None


def number_of(value: object) -> float | None:
    """Read a finite number, also one written as text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def count_of(value: object) -> int | None:
    """Read a whole number that fits 64 bits, also one written as text."""
    number = number_of(value)
    return int(number) if number is not None and abs(number) < 2**63 and number == int(number) else None


def flag_of(value: object) -> bool | None:
    """Keep a boolean; anything else is unknown, which is not false."""
    return value if isinstance(value, bool) else None


def instant_of(value: object) -> datetime | None:
    """Read unix epoch seconds; out of range or mistyped is absent. Contract, Resources: all timestamps."""
    seconds = number_of(value)
    return datetime.fromtimestamp(seconds, UTC) if seconds is not None and 0 <= seconds <= _LAST_EPOCH_SECOND else None


def instant_or_iso_of(value: object) -> datetime | None:
    """Read unix epoch seconds, or an ISO instant with its offset. Contract, Versioning 6: `deployedAt` was ISO text."""
    with suppress(ValueError, OverflowError):
        written = datetime.fromisoformat(value) if isinstance(value, str) else None
        if written is not None and written.tzinfo is not None:
            return written.astimezone(UTC)
    return instant_of(value)


def object_of(value: object) -> dict[str, object]:
    """Keep a JSON object; anything else is an empty one."""
    return value if isinstance(value, dict) else {}


def list_of_objects(value: object) -> list[dict[str, object]]:
    """Keep the objects of a JSON array; anything else gives an empty list."""
    return [member for member in value if isinstance(member, dict)] if isinstance(value, list) else []


def json_of(body: bytes) -> object:
    """Parse a body as standard JSON; None if it is not.

    NaN, bytes that are not UTF-8, a number or a depth out of bounds, and a repeated member name are not.
    """
    try:
        text = body.decode("utf-8-sig")
        value = json.loads(text, parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_object)
    except (ValueError, RecursionError):
        return None
    return None if _is_too_deep(value) else value


def canonical_json(value: object) -> str:
    """Write JSON in one canonical form: sorted keys, no spaces, valid UTF-8."""
    written = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return written.encode("utf-8", "replace").decode()


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("the number is too large")
    return number


def _object(members: list[tuple[str, object]]) -> dict[str, object]:
    """Refuse a repeated name: JSON readers differ in which value they take, and the values may contradict."""
    read = dict(members)
    if len(read) < len(members):
        raise ValueError("a member name is repeated")
    return read


def _is_too_deep(value: object) -> bool:
    """Return whether writing the value again could exceed Python's recursion limit."""
    layer, level = [value], 0
    while layer and level <= _MAX_LEVELS:
        layer = [inner for outer in layer if isinstance(outer, dict | list) for inner in _members_of(outer)]
        level += 1
    return level > _MAX_LEVELS


def _members_of(value: dict[str, object] | list[object]) -> Iterable[object]:
    return value.values() if isinstance(value, dict) else value


Text = Annotated[str | None, BeforeValidator(text_of)]
Count = Annotated[int | None, BeforeValidator(count_of)]
Number = Annotated[float | None, BeforeValidator(number_of)]
Flag = Annotated[bool | None, BeforeValidator(flag_of)]
Instant = Annotated[datetime | None, BeforeValidator(instant_of)]
InstantOrIso = Annotated[datetime | None, BeforeValidator(instant_or_iso_of)]
