"""Make a site of a results store, or bring it up to date: only what has changed is written.

A reader never sees half a page: each object is put in its place whole, and data of the look-up are new objects, which
`files/index.js` names once all are there.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from importlib.resources import files

from proofsweep.answers.explain.explain import packet_of_failed_calls
from proofsweep.answers.report.templates import template
from proofsweep.answers.report.write_page import page_of
from proofsweep.answers.site.levels import FILES_FOLDER, script_of
from proofsweep.answers.site.look_up import LookUp, delete_old, updated_look_up
from proofsweep.answers.site.nights import NIGHTS_INDEX, NightPages, chosen_nights, page_of_nights
from proofsweep.answers.site.site_state import state_of_site, write_state
from proofsweep.contract.verdicts import MEANING_OF_VALID
from proofsweep.model.run_records import RunRecord
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.run_index import RunIndex
from proofsweep.store.store import Store
from proofsweep.text import minute_of


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteRequest:
    """What a site is made of.

    Attributes:
        tag: by which its pages count; None for none.
        screening: conditions by their names.
        most_pages: of nights that one update writes; None for all. The next one goes on.
    """

    results: Results
    environment: str
    clock: Callable[[], datetime]
    tag: str | None
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

    (1) read what is in it, (2) write the records of files that have changed, (3) the pages of nights that have, (4) the
    pages that lead to them, (5) what is in it now, (6) delete what nothing names any more.

    Raises:
        UsageError: the folder holds other files, is the site of another store, or lies in the results store.
        ResultsError: the store or the site cannot be read or written.
    """
    before = state_of_site(store, request.results, request.environment)  # (1)
    runs = list(RunIndex(request.results).refreshed().newest_first())
    found = updated_look_up(request.results, store, before, runs, request.clock())  # (2)
    nights = chosen_nights(runs, request.environment)
    pages = NightPages(store, lambda run_id: _night_page(request, run_id), request.most_pages)
    digests = pages.written(nights, before.nights)  # (3)
    _write_pages(request, store, nights, digests, found)  # (4)
    write_state(store, replace(found.state, nights=digests))  # (5)
    delete_old(store, before, found.state, request.clock())  # (6)
    written = sum(digest != before.nights.get(run_id) for run_id, digest in digests.items())
    return SiteUpdate(files=found.files, changed=found.changed, nights=written)


def _night_page(request: SiteRequest, run_id: str) -> str:
    packet = packet_of_failed_calls(request.results, request.results.plan(run_id))
    return page_of(request.results, run_id, request.tag, packet, request.screening)


def _write_pages(
    request: SiteRequest, store: Store, nights: Sequence[RunRecord], with_pages: Collection[str], found: LookUp
) -> None:
    """Write the pages that are the same for all, and those that tell of all nights; the data's index comes last."""
    style = _own("style.css", "report") + _own("lookup.css", "site")
    made = minute_of(request.clock())
    data = {
        "made": made,
        "files": found.files,
        "nights": list(with_pages),
        "levels": [{"name": each.name, "bits": each.bits, "words": each.words} for each in found.state.levels],
    }
    pages = {
        "style.css": style,
        "site.js": _own("site.js", "site"),
        "lookup.html": template("lookup.html.jinja").render(meaning=MEANING_OF_VALID),
        NIGHTS_INDEX: page_of_nights(nights, with_pages),
        "index.html": _night_page(request, nights[0].plan.run_id),
    }
    for name, text in pages.items():
        content = text.encode("utf-8", "replace")
        if store.read(name) != content:
            store.replace(name, content)
    script = json.dumps(data, ensure_ascii=False)
    store.replace(f"{FILES_FOLDER}/index.js", script_of(f'proofsweep("index",{script})'))


def _own(name: str, room: str) -> str:
    return files("proofsweep.answers").joinpath(room, name).read_text(encoding="utf-8")
