"""A site is made of a store, and brought up to date; only what is new is written."""

from pathlib import Path

from proofsweep.answers.report.choice import PageChoice
from proofsweep.answers.site.update_site import SiteRequest, update_site
from proofsweep.audit.redact import redact
from proofsweep.store.folder_store import FolderStore
from proofsweep.store.plans_and_parts import Results

from ..views.nights import ACCEPTED, MONDAY, REJECTED, TUESDAY, night
from .read_site import NOW, arguments_of, files_below

SECRET_NAME = "the secret song.wav"


def test_a_site_is_kept_up_to_date_and_forgets_what_is_redacted(results: Results, site: FolderStore) -> None:
    """A night writes its page, the pages that lead to it and a level; a redaction makes all anew."""
    request = SiteRequest(results=results, environment="beta", clock=lambda: NOW, choice=PageChoice(), screening={})
    night(results, MONDAY, {"a.wav": ACCEPTED, SECRET_NAME: REJECTED}, is_noted=True)

    first = update_site(request, site)
    before = files_below(site)
    night(results, TUESDAY, {"a.wav": REJECTED, SECRET_NAME: REJECTED}, is_noted=True)
    second = update_site(request, site)
    after = files_below(site)
    redact(results, SECRET_NAME, lambda: NOW)
    third = update_site(request, site)

    assert ((first.files, first.changed, first.nights), (second.changed, second.nights)) == ((2, 2, 1), (2, 2))
    unchanged = {name for name, at in before.items() if after.get(name) == at}
    assert {"lookup.html", "site.js", "style.css", "site.json"} <= unchanged
    assert {"index.html", "nights/index.html", "files/index.js", f"nights/{MONDAY}.html"}.isdisjoint(unchanged)
    _, index = arguments_of(site, "files/index.js")
    assert (index["files"], index["nights"]) == (1, [TUESDAY, MONDAY])
    assert (third.files, third.nights) == (1, 2)
    contents = [path.read_bytes() for path in Path(site.url).rglob("*") if path.is_file()]
    assert not any(b"secret" in content for content in contents)
