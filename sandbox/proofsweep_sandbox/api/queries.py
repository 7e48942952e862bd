"""Query parameters: bounded whole numbers, and cursors."""

from collections.abc import Mapping

from proofsweep_sandbox.answers import malformed
from proofsweep_sandbox.service import Service


def whole_number(query: Mapping[str, str], name: str, highest: int, default: int) -> int:
    """Return a query parameter from 1 to `highest`, or its default if it is absent; otherwise raise a 400."""
    text = query.get(name)
    if text is None:
        return default
    digits = text.lstrip("0")  # a number of thousands of digits is not even read
    if not (
        text.isascii() and text.isdigit() and len(digits) <= len(str(highest)) and 1 <= int(digits or 0) <= highest
    ):
        raise malformed(f"{name} is a whole number from 1 to {highest}")
    return int(digits)


def page_limit(query: Mapping[str, str]) -> int:
    """Return the size of the next page."""
    return whole_number(query, "limit", highest=100, default=50)


def position_of(service: Service, query: Mapping[str, str], listing: str) -> list[int] | None:
    """Return the position of the query's cursor, or None without a cursor; raise a 400 for an invalid cursor."""
    cursor = query.get("cursor")
    if cursor is None:
        return None
    position = service.signatures.position(listing, cursor)
    if position is None:
        raise malformed("the cursor is not from this listing")
    return position
