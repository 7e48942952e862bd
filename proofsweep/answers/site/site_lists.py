"""The lists of what needs attention, of each supplier or other value of a tag, among the files of a site."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from proofsweep.answers.export import FORMATS
from proofsweep.answers.report.lists import Lists, below, written_lists
from proofsweep.answers.site.site_state import ListOfSite
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.store import Store

LISTS_FOLDER = "lists"

# Files that need attention of which an update still writes lists. Chosen: 10,000 take some seconds as workbooks.
MOST_LISTED = 10_000


def update_lists(results: Results, environment: str, tags: Sequence[str], store: Store) -> tuple[ListOfSite, ...]:
    """Write the lists of all values of some tags, of which only those are put into the site that have changed.

    Those of values that need nothing any more go. ResultsError if the store or the site cannot be used.
    """
    with TemporaryDirectory(prefix="proofsweep-lists-") as scratch:
        with written_lists(results, environment, tags, Path(scratch)) as lists:
            found = tuple(_found(lists))
        names = {path.name for path in Path(scratch).iterdir()}
        for name in sorted(names):
            _put(store, f"{LISTS_FOLDER}/{name}", Path(scratch, name).read_bytes())
    delete_lists(store, but=names)
    return found


def delete_lists(store: Store, but: "set[str] | frozenset[str]" = frozenset()) -> None:
    """Delete the lists of a site, but for some names."""
    for name in store.names(LISTS_FOLDER):
        if name.rpartition("/")[2] not in but:
            store.delete(name)


def links_to(lists: Sequence[ListOfSite]) -> Lists:
    """Return how a page at the top of the site links its lists."""
    found: dict[tuple[str, str | None], dict[str, str]] = {}
    for each in lists:
        found.setdefault((each.tag, each.value), {})[each.form] = each.name
    return below(LISTS_FOLDER, found)


def _found(lists: Lists) -> Iterator[ListOfSite]:
    for (tag, value), names in lists.items():
        for form in FORMATS:
            if form in names:
                yield ListOfSite(tag=tag, value=value, form=form, name=names[form])


def _put(store: Store, name: str, content: bytes) -> None:
    if store.read(name) != content:
        store.replace(name, content)
