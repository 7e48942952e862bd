"""An empty results store for each test."""

from pathlib import Path

import pytest

from proofsweep.storage.results.folder_store import FolderStore
from proofsweep.storage.results.plans_and_parts import Results


class QuickFolder(FolderStore):
    """A folder that does not wait for the disk."""

    def create(self, name: str, content: bytes) -> None:
        """Write a file; nobody else writes here."""
        path = Path(self.url, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """Give an empty results store whose path holds what a glob would take for a pattern."""
    return Results(QuickFolder(tmp_path / "a [1] store*"))
