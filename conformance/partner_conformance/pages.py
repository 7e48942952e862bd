"""Pages of a list, one after another. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from partner_conformance.assertions import expect, objects_of, success_members, text_of
from partner_conformance.operations import KEYS
from partner_conformance.replies import Reply, Violation


@dataclass(frozen=True, kw_only=True)
class Walk:
    """Pages in order; `cursor` leads to the next one, and is None after the last."""

    pages: list[Reply]
    cursor: str | None

    @property
    def is_ended(self) -> bool:
        """Whether the last page of the list is among them."""
        return self.cursor is None

    @cached_property
    def ids(self) -> list[str]:
        """The ids of all entries."""
        return [each for page in self.pages for each in ids_of(page)]


def items_of(page: Reply) -> list[Mapping[str, object]]:
    """Return the entries of a page of keys or of proofs."""
    return objects_of(success_members(page), "keys" if page.operation is KEYS else "items", page)


def ids_of(page: Reply) -> list[str]:
    """Return the ids of a page's entries."""
    return [text_of(item, "keyId" if page.operation is KEYS else "proofId", page) for item in items_of(page)]


def cursor_of(page: Reply, used: str | None) -> str | None:
    """Return the cursor to the next page, or None on the last one; `used` is the cursor of this page."""
    members = success_members(page)
    if "nextCursor" not in members:
        return None
    cursor = members["nextCursor"]
    if not isinstance(cursor, str) or not cursor:
        raise Violation("nextCursor is not a cursor; on the last page it must be absent", (page,))
    expect(cursor != used, "a page's nextCursor is its own cursor", page)
    return cursor
