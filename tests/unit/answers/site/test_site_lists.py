"""The lists of what needs attention, in a site."""

import csv
import io
import json
from pathlib import Path

import pytest

from proofsweep.answers.report.choice import PageChoice
from proofsweep.answers.site import update_site as module
from proofsweep.answers.site.update_site import SiteRequest, update_site
from proofsweep.model.tables.columns import Row
from proofsweep.store.folder_store import FolderStore
from proofsweep.store.plans_and_parts import Results

from ..views.nights import ACCEPTED, MONDAY, REJECTED, TUESDAY, night
from .read_site import NOW


def tagged(cells: Row, supplier: str, **tags: str) -> Row:
    """Return the cells of a row of a supplier."""
    return {**cells, "tags": json.dumps({"supplier": supplier, **tags})}


def request_for(results: Results, *tags: str) -> SiteRequest:
    """Return a request for a site whose pages count by some tags."""
    choice = PageChoice(tags=tags, usual_tag="supplier")
    return SiteRequest(results=results, environment="beta", clock=lambda: NOW, choice=choice, screening={})


def lists_in(site: FolderStore) -> list[str]:
    """Return the names of a site's lists."""
    return sorted(path.name for path in Path(site.url, "lists").glob("*"))


def test_each_supplier_has_a_list_that_the_page_links(results: Results, site: FolderStore) -> None:
    """It goes when the supplier has nothing open any more; without a change nothing is written again."""
    night(results, MONDAY, {"a": tagged(REJECTED, "north"), "b": tagged(REJECTED, "south")}, is_noted=True)
    update_site(request_for(results), site)

    names = [f"needs-attention-{name}.{form}" for name in ("north", "south") for form in ("csv", "xlsx")]
    assert lists_in(site) == names
    page = Path(site.url, "index.html").read_text("utf-8")
    assert all(f'href="lists/{name}"' in page for name in names)
    content = site.read("lists/needs-attention-north.csv") or b""
    rows = list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"))))
    assert [row["supplier"] for row in rows] == ["north"]

    written = Path(site.url, "lists", names[0]).stat().st_mtime_ns
    update_site(request_for(results), site)
    assert Path(site.url, "lists", names[0]).stat().st_mtime_ns == written

    night(results, TUESDAY, {"a": tagged(REJECTED, "north"), "b": tagged(ACCEPTED, "south")}, is_noted=True)
    update_site(request_for(results), site)
    assert lists_in(site) == names[:2]


def test_other_tags_make_other_lists(results: Results, site: FolderStore) -> None:
    """Though no file has changed since."""
    night(results, MONDAY, {"a": tagged(REJECTED, "north", label="Blue")}, is_noted=True)
    update_site(request_for(results), site)
    update_site(request_for(results, "label"), site)

    assert lists_in(site) == ["needs-attention-Blue.csv", "needs-attention-Blue.xlsx"]


def test_too_many_rows_have_no_lists(results: Results, site: FolderStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists of a catalog that failed as a whole would take longer than the night; old ones go."""
    night(results, MONDAY, {"a": tagged(REJECTED, "north")}, is_noted=True)
    update_site(request_for(results), site)
    monkeypatch.setattr(module, "MOST_LISTED", 1)
    night(results, TUESDAY, {"a": tagged(REJECTED, "north"), "b": tagged(REJECTED, "north")}, is_noted=True)
    update_site(request_for(results), site)

    assert lists_in(site) == []
    assert "lists/" not in Path(site.url, "index.html").read_text("utf-8")
