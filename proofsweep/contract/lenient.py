"""How mistyped members of an answer are read: leniently, and never with an exception."""

import json
import math
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated, NoReturn

from pydantic import BeforeValidator

_MOST_LEVELS = 100
_LAST_SECOND = 253_402_300_799  # 9999-12-31T23:59:59Z


def text_of(value: object) -> str | None:
    """Keep text, without what no UTF-8 file could hold; anything else is absent."""
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
    """Keep a boolean; absent, or anything else, is not false but unknown."""
    return value if isinstance(value, bool) else None


def instant_of(value: object) -> datetime | None:
    """Read unix epoch seconds; out of range or mistyped is absent. Contract, Resources: all timestamps."""
    seconds = number_of(value)
    return datetime.fromtimestamp(seconds, UTC) if seconds is not None and 0 <= seconds <= _LAST_SECOND else None


def instant_or_iso_of(value: object) -> datetime | None:
    """Read unix epoch seconds, or an ISO instant with its offset. Contract, Versioning 6: `deployedAt` was one once."""
    with suppress(ValueError, OverflowError):
        written = datetime.fromisoformat(value) if isinstance(value, str) else None
        if written is not None and written.tzinfo is not None:
            return written.astimezone(UTC)
    return instant_of(value)


def object_of(value: object) -> dict[str, object]:
    """Keep a JSON object; anything else is an empty one."""
    return value if isinstance(value, dict) else {}


def list_of_objects(value: object) -> list[dict[str, object]]:
    """Keep the objects of a JSON array; anything else is none."""
    return [member for member in value if isinstance(member, dict)] if isinstance(value, list) else []


def json_of(body: bytes) -> object:
    """Parse JSON as the standard has it; None for whatever is not.

    That is NaN, no UTF-8, a number or a depth beyond bounds, or an object that says a member twice.
    """
    try:
        text = body.decode("utf-8-sig")
        value = json.loads(text, parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_object)
    except (ValueError, RecursionError):
        return None
    return None if _is_too_deep(value) else value


def canonical_json(value: object) -> str:
    """Write received JSON in one spelling: sorted keys, no spaces, text as UTF-8 can hold it."""
    written = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return written.encode("utf-8", "replace").decode()


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number beyond all bounds")
    return number


def _object(members: list[tuple[str, object]]) -> dict[str, object]:
    """Refuse two values for one name: readers differ in which they take, and one may say what the other denies."""
    read = dict(members)
    if len(read) < len(members):
        raise ValueError("a member is there twice")
    return read


def _is_too_deep(value: object) -> bool:
    """Say whether whoever writes it again, from deeper in the stack than here, might not come to its end."""
    layer, level = [value], 0
    while layer and level <= _MOST_LEVELS:
        layer = [inner for outer in layer if isinstance(outer, dict | list) for inner in _members_of(outer)]
        level += 1
    return level > _MOST_LEVELS


def _members_of(value: dict[str, object] | list[object]) -> Iterable[object]:
    return value.values() if isinstance(value, dict) else value


Text = Annotated[str | None, BeforeValidator(text_of)]
Count = Annotated[int | None, BeforeValidator(count_of)]
Number = Annotated[float | None, BeforeValidator(number_of)]
Flag = Annotated[bool | None, BeforeValidator(flag_of)]
Instant = Annotated[datetime | None, BeforeValidator(instant_of)]
InstantOrIso = Annotated[datetime | None, BeforeValidator(instant_or_iso_of)]
