"""What a page is to show, and which other files lie beside it. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from proofsweep.model.tags import key_of_tag


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


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLinks:
    """Where other pages and files lie, as relative references from this page; what is not there has no link.

    Attributes:
        menu: references by their words, such as `All nights` and `Look up a file`; shown on top of the page.
        nights: the page of each run, by its ID.
        lists: the lists of what needs attention, by the key of a tag and its value (None: files without the tag), then
            by format.
        live: of a page that a server sends, the script that keeps it up to date.
    """

    menu: Mapping[str, str] = field(default_factory=dict)
    nights: Mapping[str, str] = field(default_factory=dict)
    lists: Mapping[tuple[str, str | None], Mapping[str, str]] = field(default_factory=dict)
    live: str = ""

    def lists_of(self, tag: str, value: str | None) -> Mapping[str, str]:
        """Return the lists of one value of a tag, by format; nothing if there is none."""
        return self.lists.get((key_of_tag(tag), value), {})


ALONE = PageLinks()
"""A page without any other file."""
