"""Reading a request: whole numbers within bounds, cursors that are ours."""

from collections.abc import Mapping

from sandbox.answers import malformed
from sandbox.signatures import Signatures


def whole_number(query: Mapping[str, str], name: str, highest: int, default: int) -> int:
    """Return a query parameter between 1 and `highest`, or its default where it is absent; raise a 400 otherwise."""
    text = query.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= highest):
        raise malformed(f"{name} is a whole number from 1 to {highest}")
    return int(text)


def place_of(query: Mapping[str, str], listing: str, signatures: Signatures) -> list[int] | None:
    """Return where the cursor in the query points to, None where there is no cursor; raise a 400 for a foreign one."""
    cursor = query.get("cursor")
    if cursor is None:
        return None
    place = signatures.place(listing, cursor)
    if place is None:
        raise malformed("the cursor is not one that this listing gave")
    return place
