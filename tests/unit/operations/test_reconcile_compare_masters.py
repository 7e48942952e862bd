"""Assets are compared with the digests that the list of proofs gave."""

from pathlib import Path

from proofsweep.operations.reconcile import compared_masters
from proofsweep.store.folder_store import FolderStore
from proofsweep.store.plans_and_parts import Results

from ..ended_runs import answered, end_leg, plan_of_run


def test_only_assets_with_a_digest_are_compared(tmp_path: Path) -> None:
    """The column's name and the digest may be written in any case; what was not sent has nothing to compare."""
    results = Results(FolderStore(tmp_path))
    plan = plan_of_run("20261120T010000Z_000aa", items=4)
    rows = [
        answered(plan, 0, "same", audio_sha256="aa", tags='{" SHA256 ": " AA "}'),
        answered(plan, 1, "other", audio_sha256="aa", tags='{"sha256": "bb"}'),
        answered(plan, 2, "none", audio_sha256="aa", tags='{"sha256": ""}'),
        answered(plan, 3, "unsent", "ineligible", tags='{"sha256": "aa"}'),
    ]
    end_leg(results, plan, rows)

    found = dict(compared_masters(results, plan))
    assert found == {"same": True, "other": False}
