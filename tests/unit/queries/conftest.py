"""An empty results store for each test."""

import os
from pathlib import Path

import pytest

from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Results:
    """A store whose path holds what a glob would take for a pattern, and which does not wait for the disk."""
    monkeypatch.setattr(os, "fsync", lambda _file: None)
    return Results(FolderStore(tmp_path / "a [1] store*"))
