"""Reading a request: whole numbers within bounds, cursors that are ours."""

from collections.abc import Mapping

from sandbox.answers import malformed
from sandbox.service import Service


def whole_number(query: Mapping[str, str], name: str, highest: int, default: int) -> int:
    """Return a query parameter between 1 and `highest`, or its default where it is absent; raise a 400 otherwise."""
    text = query.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= highest):
        raise malformed(f"{name} is a whole number from 1 to {highest}")
    return int(text)


def page_limit(service: Service, query: Mapping[str, str]) -> int:
    """Return how many items the next page holds at most: `limit`, or fewer where the silences have it."""
    limit = whole_number(query, "limit", highest=100, default=service.unspecified.page_size)
    return max(1, limit - service.unspecified.page_shortfall)


def cursor_to(service: Service, listing: str, place: list[int]) -> str:
    """Return the cursor that points to a place in a listing."""
    return f"{service.unspecified.cursor_prefix}{service.signatures.cursor(listing, place)}"


def place_of(service: Service, query: Mapping[str, str], listing: str) -> list[int] | None:
    """Return where the cursor in the query points to, None where there is no cursor; raise a 400 for a foreign one."""
    cursor = query.get("cursor")
    if cursor is None:
        return None
    place = service.signatures.place(listing, cursor.removeprefix(service.unspecified.cursor_prefix))
    if place is None:
        raise malformed("the cursor is not one that this listing gave")
    return place
