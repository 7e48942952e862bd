"""One process at a time works with a claim in a store."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from proofsweep.errors import RunIsActive
from proofsweep.storage.results.folder_store import FolderStore
from proofsweep.storage.results.legs import Legs
from proofsweep.storage.results.plans_and_parts import Results
from proofsweep.usecases.operations.sole_process import sole_process


@pytest.fixture
def claims(tmp_path: Path) -> Legs:
    """The claims of an empty store."""
    return Legs(Results(FolderStore(tmp_path)), "erasures", lambda: datetime.now(UTC))


def test_a_second_process_is_refused(claims: Legs) -> None:
    """It would take the journal of the first one for that of a dead process."""
    with sole_process(claims, "It is busy."), pytest.raises(RunIsActive, match="busy"), sole_process(claims, "busy"):
        pass

    with sole_process(claims, "busy"):
        pass


def test_a_dead_process_holds_nobody_up(claims: Legs, tmp_path: Path) -> None:
    """Its claim is there, and the process is not."""
    claims.claim(1)
    (claim,) = tmp_path.rglob("claim.json")
    claim.write_text(json.dumps(json.loads(claim.read_text()) | {"process_started": "earlier"}))

    with sole_process(claims, "busy"):
        pass
