"""An empty results store for each test."""

from pathlib import Path

import pytest

from proofsweep.domain.errors import NameTaken
from proofsweep.store.folder_store import FolderStore
from proofsweep.store.plans_and_parts import Results


class QuickFolder(FolderStore):
    """A folder that does not wait for the disk."""

    def create(self, name: str, content: bytes) -> None:
        """Write a file that is not there."""
        path = Path(self.url, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with path.open("xb") as file:
                file.write(content)
        except FileExistsError as taken:
            raise NameTaken(f"{name} is there.") from taken


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """Return an empty results store whose path holds what a glob would take for a pattern."""
    return Results(QuickFolder(tmp_path / "a [1] store*"))
