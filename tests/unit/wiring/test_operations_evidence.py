"""Evidence goes from settings to a file."""

import zipfile
from pathlib import Path

import pytest

from proofsweep.errors import UsageError
from proofsweep.settings import load_settings
from proofsweep.store.folder_store import FolderStore
from proofsweep.store.plans_and_parts import Results
from proofsweep.wiring.operations import pack_evidence

from ...worlds.audited_store import NEWEST, audited_store


def test_evidence_is_a_file_that_is_never_overwritten(tmp_path: Path) -> None:
    """A refused one leaves nothing behind."""
    audited_store(Results(FolderStore(tmp_path / "results")))
    settings, path = load_settings(None, str(tmp_path / "results")), tmp_path / "x.zip"

    done = pack_evidence(settings, NEWEST, {"release": "R0"}, path)

    assert done.rows == 3
    assert b"of run " + NEWEST.encode() in zipfile.ZipFile(path).read("report.html")
    before = path.read_bytes()
    with pytest.raises(UsageError, match="File exists"):
        pack_evidence(settings, NEWEST, {}, path)
    with pytest.raises(UsageError, match="No row has"):
        pack_evidence(settings, NEWEST, {"release": "none"}, tmp_path / "y.zip")
    assert path.read_bytes() == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["results", "x.zip"]
