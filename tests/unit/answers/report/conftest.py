"""A results store in a folder."""

from pathlib import Path

import pytest

from proofsweep.store.folder_store import FolderStore
from proofsweep.store.plans_and_parts import Results


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """An empty store."""
    return Results(FolderStore(tmp_path / "results"))
