"""A results store and a site in folders."""

from pathlib import Path

import pytest

from proofsweep.store.folder_store import FolderStore
from proofsweep.store.plans_and_parts import Results

from .read_site import LookUps


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """Return an empty results store."""
    return Results(FolderStore(tmp_path / "results"))


@pytest.fixture
def site(tmp_path: Path) -> FolderStore:
    """Return a folder that is not there yet."""
    return FolderStore(tmp_path / "site")


@pytest.fixture
def look_ups(results: Results, site: FolderStore) -> LookUps:
    """Return the look-up of the store, which was never made."""
    return LookUps(results, site)
