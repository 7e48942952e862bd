"""An empty results store for each test, and the plan of a run of four rows."""

import os
from pathlib import Path

import pytest

from proofsweep.domain.runs import Plan
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results

from ...worlds.ended_runs import plan_of_run


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Results:
    """A store whose path holds what a glob would take for a pattern, and which does not wait for the disk."""
    monkeypatch.setattr(os, "fsync", lambda _file: None)
    return Results(FolderStore(tmp_path / "a [1] store*"))


@pytest.fixture
def plan() -> Plan:
    facts = {"environment": "sandbox", "catalog": "music", "catalog_kind": "folder", "eligible": 3}
    return plan_of_run("20261120T100000Z_aaaaaa", 4, **facts)
