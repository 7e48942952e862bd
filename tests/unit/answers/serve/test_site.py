"""What browsers are told while they look."""

import json
from pathlib import Path

import pytest
from starlette.exceptions import HTTPException

from proofsweep.answers.serve.access import Access
from proofsweep.answers.serve.site import Resumption, Site
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.read_only import read_only

from .conftest import ENDED, HOSTILE, beat, begin


@pytest.fixture
def site(results: Results) -> Site:
    """A site without a token."""
    return Site(
        results=Results(read_only(results.store)),
        access=Access(),
        stop=str,
        resumption=Resumption(by=lambda: None, begin=str, command=str),
        pages=str,
        overview=str,
    )


def test_a_look_tells_how_far_each_active_run_is(site: Site, results: Results) -> None:
    """In one line, as the inside of an element; a further heartbeat is another line with the same state."""
    plan = begin(results, HOSTILE)

    first = json.loads(site.look())
    beat(results, plan, 8)
    second = json.loads(site.look())

    assert "7 of 20 files" in first["runs"][plan.run_id]
    assert "8 of 20 files" in second["runs"][plan.run_id]
    assert first["state"] == second["state"]
    assert "\n" not in site.look()


def test_a_run_that_begins_or_ends_is_another_state(site: Site, results: Results) -> None:
    """Pages that show the present are loaded anew then."""
    before = json.loads(site.look())
    begin(results)

    assert before["runs"] == {}
    assert json.loads(site.look())["state"] != before["state"]


def test_a_store_that_is_away_is_told_to_those_who_look(site: Site, results: Results) -> None:
    """The stream goes on."""
    folder = Path(results.store.url)
    folder.rename(folder.with_name("away"))
    folder.symlink_to(folder)

    assert "cannot be read" in json.loads(site.look())["trouble"]


def test_only_runs_of_the_store_are_there(site: Site) -> None:
    """Whatever a path holds."""
    site.require_run(ENDED.run_id)
    for run_id in ("nothing", "../x", "", "a" * 65):
        with pytest.raises(HTTPException):
            site.require_run(run_id)
