"""What a page is to show. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True, kw_only=True)
class PageChoice:
    catalog: str | None = None  # of a catalog page, the location of the one catalog; None for all of the environment
    tags: Sequence[str] = ()  # each has a column in the list of files that need attention, and a table of its values
    usual_tag: str | None = None  # shown if none is chosen and some file has it
    since: date | None = None  # of a catalog page, the UTC day since when to count what changed, beside the last run
