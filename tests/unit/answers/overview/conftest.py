"""A store with two accounts: a night that has ended, one that is worked on, and one whose process has died."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from proofsweep.model.layout import heartbeat_name
from proofsweep.model.progress import LegProgress
from proofsweep.model.runs import Plan
from proofsweep.model.tables import schemas
from proofsweep.store.folder_store import FolderStore
from proofsweep.store.legs import Legs
from proofsweep.store.plans_and_parts import Results

from ...ended_runs import answered, end_leg, plan_of_run

NOW = datetime.now(UTC).replace(microsecond=0)
KEY = "abcdef012345"


def plan_ago(ago: timedelta, tail: str, **facts: object) -> Plan:
    """Plan a run that began so long ago."""
    return plan_of_run(f"{NOW - ago:%Y%m%dT%H%M%SZ}_000{tail}", **facts)  # type: ignore[arg-type]  # the test's own words


def write_listed(results: Results, plan: Plan, names: Sequence[str]) -> None:
    """Write the items that a run has planned."""
    cells = [{"manifest_row": row, "item_id": name, "audio": f"/c/{name}".encode()} for row, name in enumerate(names)]
    results.write_shard(plan.run_id, 0, pa.Table.from_pylist(cells, schema=schemas.ITEMS))


def end_night(results: Results, plan: Plan, outcomes: Sequence[str], **counts: object) -> None:
    """Leave a night behind whose files have these outcomes."""
    names = [f"{plan.catalog}/{number}.wav" for number in range(plan.items)]
    write_listed(results, plan, names)
    rows = [answered(plan, row, names[row], outcome) for row, outcome in enumerate(outcomes)]
    ended = datetime.fromisoformat(plan.created_at) + timedelta(hours=1)
    facts = {"key_fingerprint": KEY, "finished_at": ended.isoformat(), "calls": 2 * len(rows)}
    end_leg(results, plan, rows, **facts | counts)


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """Return the store: acme's night of yesterday has ended, and borealis's two runs have no end."""
    results = Results(FolderStore(tmp_path / "results"))
    night = plan_ago(timedelta(days=1), "aaaaaa", items=4, environment="acme", catalog="/acme")
    end_night(results, night, ["accepted", "rejected", "failed"], quota_after=5_000, calls=700, rate_learned=12.5)
    for tail, catalog in (("bbbbbb", "/alive"), ("cccccc", "/dead")):
        plan = plan_ago(timedelta(minutes=5), tail, items=20, environment="borealis", catalog=catalog)
        results.write_plan(plan)
        legs = Legs(results, plan.run_id)
        legs.claim(1)
        told = {"accepted": 7}
        legs.beat(1, LegProgress(rows=20, finished_before=0, counts=told, rate=2.0, seconds_left=6.5, quota_left=90))
        if catalog == "/dead":
            name = heartbeat_name(plan.run_id, 1)
            sign = json.loads(results.store.read(name) or b"{}")
            results.store.replace(name, json.dumps(sign | {"at": "2020-01-01T00:00:00+00:00", "boot": "b"}).encode())
    return results
