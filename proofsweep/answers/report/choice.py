"""What a page is to show. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True, kw_only=True)
class PageChoice:
    """What to show.

    Attributes:
        catalog: of a catalog page, the location of the one catalog; None for all of the environment.
        tags: each has a column in the list of files that need attention, and a table of its values.
        usual_tag: the tag to show if none is chosen and some file has it.
        since: of a catalog page, the UTC day since when to count what broke and what was mended, beside the last run.
    """

    catalog: str | None = None
    tags: Sequence[str] = ()
    usual_tag: str | None = None
    since: date | None = None
