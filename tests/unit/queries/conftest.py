"""An empty results store for each test, and settings that lead to a service in this very process."""

from pathlib import Path

import pytest

from proofsweep.domain.errors import NameTaken
from proofsweep.domain.runs import Plan
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results

from ...worlds.ended_runs import plan_of_run
from ..wired import app, catalog, change, config, service, settings

__all__ = ["app", "catalog", "change", "config", "service", "settings"]


class QuickFolder(FolderStore):
    """A folder that does not wait for the disk."""

    def create(self, name: str, content: bytes) -> None:
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


@pytest.fixture
def plan() -> Plan:
    facts = {"environment": "sandbox", "catalog": "music", "catalog_kind": "folder", "eligible": 3}
    return plan_of_run("20261120T100000Z_aaaaaa", 4, **facts)
