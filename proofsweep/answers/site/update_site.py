"""Make a site of a results store, or bring it up to date: only what has changed is written.

A reader never sees half a page: each object is put in its place whole, and data of the look-up are new objects, which
`files/index.js` names once all are there.
"""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from importlib.resources import files

from proofsweep.answers.explain.explain import packet_of_failed_calls
from proofsweep.answers.report.catalog_page import catalog_page
from proofsweep.answers.report.choice import PageChoice, PageLinks
from proofsweep.answers.report.night_page import night_page
from proofsweep.answers.report.nights import nights_of
from proofsweep.answers.report.templates import template
from proofsweep.answers.site.levels import FILES_FOLDER, script_of
from proofsweep.answers.site.look_up import LookUp, delete_old, updated_look_up
from proofsweep.answers.site.nights import NIGHTS_FOLDER, NIGHTS_INDEX, NightPages, chosen_nights
from proofsweep.answers.site.site_lists import MOST_LISTED, delete_lists, links_to, update_lists
from proofsweep.answers.site.site_state import SiteState, state_of_site, write_state
from proofsweep.model.tags import tag_named
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.run_index import RunIndex
from proofsweep.store.store import Store
from proofsweep.text import minute_of

# Runs that the list of nights looks through. Chosen: a year of nights, and of passes each hour.
_MOST_LISTED = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteRequest:
    """What a site is made of.

    Attributes:
        choice: which tags its pages count by.
        screening: conditions by their names.
        most_pages: of nights that one update writes; None for all. The next one goes on.
    """

    results: Results
    environment: str
    clock: Callable[[], datetime]
    choice: PageChoice
    screening: Mapping[str, str]
    most_pages: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteUpdate:
    """What an update has written.

    Attributes:
        files: that can be looked up.
        changed: those that were written.
        nights: pages of nights that were written.
    """

    files: int
    changed: int
    nights: int


def update_site(request: SiteRequest, store: Store) -> SiteUpdate:
    """Bring a site up to date, or make it.

    (1) read what is in it, (2) write the records of files that have changed, and the lists of what needs attention,
    (3) the pages of nights that have changed, (4) the pages that lead to them, (5) what is in it now, (6) delete what
    nothing names any more.

    Raises:
        UsageError: the folder holds other files, is the site of another store, or lies in the results store.
        ResultsError: the store or the site cannot be read or written.
    """
    before = state_of_site(store, request.results, request.environment)  # (1)
    runs = list(RunIndex(request.results).refreshed().newest_first())
    found = updated_look_up(request.results, store, before, runs, request.clock())  # (2)
    state = _with_lists(request, store, before, found)
    nights = chosen_nights(runs, request.environment)
    pages = NightPages(store, lambda run_id: _night_page(request, run_id), request.most_pages)
    digests = pages.written(nights, before.nights)  # (3)
    state = replace(state, nights=digests)
    _write_pages(request, store, state, found.files)  # (4)
    write_state(store, state)  # (5)
    delete_old(store, before, state, request.clock())  # (6)
    written = sum(digest != before.nights.get(run_id) for run_id, digest in digests.items())
    return SiteUpdate(files=found.files, changed=found.changed, nights=written)


def _with_lists(request: SiteRequest, store: Store, before: SiteState, found: LookUp) -> SiteState:
    """Return the state with its lists, which are written anew if a file or their tags have changed."""
    tags = tuple(request.choice.tags or filter(None, [request.choice.usual_tag]))
    if found.need_attention > MOST_LISTED:
        delete_lists(store)
        return replace(found.state, lists=(), list_tags=())
    if not found.changed and before.list_tags == tags:
        return found.state
    lists = update_lists(request.results, request.environment, tags, store)
    return replace(found.state, lists=lists, list_tags=tags)


def _night_page(request: SiteRequest, run_id: str) -> str:
    """Make the page of a night; it counts by the tags that its catalog has."""
    plan = request.results.plan(run_id)
    tags = [tag for tag in request.choice.tags if tag_named(tag, plan.tag_names) is not None]
    return night_page(
        request.results,
        run_id,
        request.clock(),
        replace(request.choice, tags=tags),
        PageLinks(menu={"Catalog": "../index.html", "All nights": "index.html", "Find a file": "../lookup.html"}),
        packet=packet_of_failed_calls(request.results, plan),
        screening=request.screening,
    )


def _write_pages(request: SiteRequest, store: Store, state: SiteState, files_found: int) -> None:
    """Write the pages that are the same for all, and those that tell of all nights; the data's index comes last."""
    for name, text in _pages(request, state).items():
        content = text.encode("utf-8", "replace")
        if store.read(name) != content:
            store.replace(name, content)
    data = {
        "made": minute_of(request.clock()),
        "files": files_found,
        "nights": list(state.nights),
        "levels": [{"name": each.name, "bits": each.bits, "words": each.words} for each in state.levels],
    }
    script = json.dumps(data, ensure_ascii=False)
    store.replace(f"{FILES_FOLDER}/index.js", script_of(f'proofsweep("index",{script})'))


def _pages(request: SiteRequest, state: SiteState) -> dict[str, str]:
    """Make the pages at the top, and the list of nights; each is quick to make, and links to the nights with a page."""
    listed = nights_of(request.results, request.environment, None, _MOST_LISTED)
    nights = template("nights.html.jinja").render(
        nights=[night for night in reversed(listed) if night.run_id in state.nights],
        links=PageLinks(
            menu={"Catalog": "../index.html", "Find a file": "../lookup.html"}, nights=_pages_of(state.nights)
        ),
        results=request.results.store.url,
        made_at=request.clock(),
    )
    links = PageLinks(
        menu={"All nights": NIGHTS_INDEX, "Find a file": "lookup.html"},
        nights=_pages_of(state.nights, f"{NIGHTS_FOLDER}/"),
        lists=links_to(state.lists),
    )
    return {
        "style.css": _own("style.css", "report") + _own("lookup.css", "site"),
        "site.js": _own("site.js", "site"),
        "lookup.html": template("lookup.html.jinja").render(),
        NIGHTS_INDEX: nights,
        "index.html": catalog_page(request.results, request.environment, request.clock(), request.choice, links),
    }


def _pages_of(chosen: Collection[str], folder: str = "") -> dict[str, str]:
    return {run_id: f"{folder}{run_id}.html" for run_id in chosen}


def _own(name: str, room: str) -> str:
    return files("proofsweep.answers").joinpath(room, name).read_text(encoding="utf-8")
