"""One process at a time works with a claim in a store."""

import json
from pathlib import Path

import pytest

from proofsweep.errors import RunIsActive
from proofsweep.store.folder_store import FolderStore
from proofsweep.store.lease import Lease, sole_process
from proofsweep.store.plans_and_parts import Results


@pytest.fixture
def lease(tmp_path: Path) -> Lease:
    """A lease that nobody has claimed."""
    return Lease(Results(FolderStore(tmp_path)), "erasures", busy="It is busy.")


def test_a_second_process_is_refused(lease: Lease) -> None:
    """It would take the journal of the first one for that of a dead process."""
    with sole_process(lease), pytest.raises(RunIsActive, match="busy"), sole_process(lease):
        pass

    with sole_process(lease):
        pass


def test_a_dead_process_holds_nobody_up(lease: Lease, tmp_path: Path) -> None:
    """Its claim is there, and the process is not."""
    lease.claim(1)
    (claim,) = tmp_path.rglob("claim.json")
    claim.write_text(json.dumps(json.loads(claim.read_text()) | {"process_started": "earlier"}))

    with sole_process(lease):
        pass
