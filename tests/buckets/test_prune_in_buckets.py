"""A results store in a bucket is pruned as one in a folder, also when the command is killed in between."""

import pytest

from proofsweep.results import open_results
from proofsweep_cli.app import run

from ..servers.buckets import BucketServer
from ..worlds.bucket_world import export_bucket
from ..worlds.command_world import Row, told
from ..worlds.core import results_at
from ..worlds.year_old_store import PARTLY, SUPERSEDED, is_killed_at, year_old_store

# Of some twenty, all of which are tried in a folder: an intent before any deletion, and deletions before the receipts.
STEPS = (1, 8)


def newest(url: str) -> list[Row]:
    return open_results(url).latest().sort_by("item_id").to_pylist()


@pytest.mark.timeout(300)
def test_a_kill_is_healed_by_pruning_again(moto: BucketServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Status and newest answers are right in between; in the end the same objects are left as without a kill."""
    bucket = moto.new_bucket()
    export_bucket(monkeypatch, bucket)
    kept: dict[int, set[str]] = {}
    for steps in (99, *STEPS):
        url = f"{bucket.url}/{steps}"
        results = year_old_store(results_at(url))
        rows = newest(url)

        assert is_killed_at(results, steps) == (steps in STEPS)

        statuses = [told("status", plan.run_id, "--results", url) for plan in (SUPERSEDED, PARTLY)]
        assert [status["accepted"] for status in statuses] == [4, 4]
        assert newest(url) == rows
        assert run(["prune", "--older-than", "400d", "--yes", "--results", url]) == 0
        assert newest(url) == rows
        names = {name.removeprefix(f"{steps}/") for name in bucket.keys(f"{steps}/")}
        kept[steps] = {name for name in names if not name.startswith("_index") and not name.startswith("_latest")}
        assert kept[steps] == kept[99]
