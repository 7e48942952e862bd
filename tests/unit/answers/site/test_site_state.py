"""A folder is a site, becomes one, or is left as it is."""

from dataclasses import replace
from pathlib import Path

import pytest

from proofsweep.answers.site.levels import Level
from proofsweep.answers.site.site_state import SiteState, state_of_site, write_state
from proofsweep.audit.redact import redact
from proofsweep.errors import UsageError
from proofsweep.store.folder_store import FolderStore
from proofsweep.store.plans_and_parts import Results

from ..views.nights import ACCEPTED, MONDAY, night
from .read_site import NOW


def state_with_level(results: Results, site: FolderStore) -> SiteState:
    """Leave a site with one level behind."""
    made = state_of_site(site, results, "beta")
    site.replace("_state/one/00.parquet", b"")
    level = Level(name="one", records=1, bits=0, words=("a",), state=("_state/one/00.parquet",))
    state = replace(made, version=1, levels=(level,), over=(MONDAY,), nights={MONDAY: "digest"})
    write_state(site, state)
    return state


def test_an_empty_folder_becomes_a_site(results: Results, site: FolderStore) -> None:
    """A marker says so."""
    state = state_of_site(site, results, "beta")

    assert (state.version, state.levels) == (0, ())
    assert b"site of proofsweep" in (site.read("site.json") or b"")


def test_a_state_is_read_as_it_was_written(results: Results, site: FolderStore) -> None:
    """The next update goes on from it."""
    state = state_with_level(results, site)

    assert state_of_site(site, results, "beta") == state


@pytest.mark.parametrize("name", ["holiday.jpg", "photos/1.jpg"])
def test_a_folder_with_other_files_is_left_alone(results: Results, site: FolderStore, name: str) -> None:
    """It was named by mistake."""
    site.replace(name, b"mine")

    with pytest.raises(UsageError, match="holds other files"):
        state_of_site(site, results, "beta")

    assert site.read("site.json") is None


def test_the_site_of_another_store_or_environment_is_left_alone(
    results: Results, site: FolderStore, tmp_path: Path
) -> None:
    """Two stores would take turns in replacing it."""
    state_with_level(results, site)

    for other, environment in ((Results(FolderStore(tmp_path / "other")), "beta"), (results, "production")):
        with pytest.raises(UsageError, match="is the site of"):
            state_of_site(site, other, environment)


def test_a_site_never_lies_in_the_results_store(results: Results) -> None:
    """Whoever copies or audits the store would find what is none of it."""
    with pytest.raises(UsageError, match="cannot lie in the results store"):
        state_of_site(FolderStore(Path(results.store.url, "site")), results, "beta")


@pytest.mark.parametrize("harm", ["state", "level", "content"])
def test_a_site_that_lacks_something_is_made_anew(results: Results, site: FolderStore, harm: str) -> None:
    """All of it is derived, so a person may delete what is in the way."""
    state_with_level(results, site)
    site.delete({"state": "_state/state.json", "level": "_state/one/00.parquet"}.get(harm, "nothing"))
    if harm == "content":
        site.replace("_state/state.json", b"{")

    state = state_of_site(site, results, "beta")

    assert (state.levels, state.over, state.nights) == ((), (), {})


def test_what_was_redacted_makes_all_anew(results: Results, site: FolderStore) -> None:
    """Else the site would tell what the store tells no more."""
    night(results, MONDAY, {"a": ACCEPTED, "b": ACCEPTED}, is_noted=True)
    before = state_with_level(results, site)
    redact(results, "b", lambda: NOW)

    state = state_of_site(site, results, "beta")

    assert (state.levels, state.over, state.nights) == ((), (), {})
    assert state.removed != before.removed
