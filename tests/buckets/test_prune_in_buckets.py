"""A results store in a bucket is pruned as one in a folder, also when the command is killed in between."""

import pytest

from proofsweep.answers.describe_run import describe_run
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.store import open_store
from proofsweep.verify.leg.note_leg import complete_snapshot

from ..servers.buckets import BucketServer
from ..worlds.bucket_world import export_bucket
from ..worlds.year_old_store import PARTLY, SUPERSEDED, is_killed_at, newest, prune_all, year_old_store

# Of some twenty: the intent of each run, deletions of each kind, the receipts and the index lie between them.
STEPS = (1, 5, 8, 12)


@pytest.mark.timeout(300)
def test_a_kill_is_healed_by_pruning_again(moto: BucketServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Status and snapshot are right in between; in the end the same objects are left as without a kill."""
    bucket = moto.new_bucket()
    export_bucket(monkeypatch, bucket)
    kept: dict[int, set[str]] = {}
    for steps in (99, *STEPS):
        results = year_old_store(Results(open_store(f"{bucket.url}/{steps}")))
        rows = newest(results)

        assert is_killed_at(results, steps) == (steps in STEPS)

        assert [describe_run(results, plan.run_id).rows("accepted") for plan in (SUPERSEDED, PARTLY)] == [4, 4]
        complete_snapshot(results)
        prune_all(results)
        assert newest(results) == rows
        names = {name.removeprefix(f"{steps}/") for name in bucket.keys(f"{steps}/")}
        kept[steps] = {name for name in names if not name.startswith("_index") and not name.startswith("_snapshot")}
        assert kept[steps] == kept[99]
