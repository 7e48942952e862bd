"""A store of five old runs, and a way to prune it that is killed at a given step."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from proofsweep.audit.prune import find_prunable, prune
from proofsweep.model.layout import exchanges_name, runs_name, verdicts_name
from proofsweep.model.pruning import Keep, Prunable
from proofsweep.model.runs import Plan
from proofsweep.store.legs import Legs
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.snapshot import Snapshot
from proofsweep.store.store import Store
from proofsweep.verify.leg.note_leg import note_leg

from ..unit.ended_runs import answered, plan_of_run

NOW = datetime(2026, 11, 20, tzinfo=UTC)
SUPERSEDED, PARTLY, UNFINISHED, PLANNED, NEWEST = (
    plan_of_run(f"202501{day:02}T120000Z_000aa", items=items, shard_items=2, shards=shards)
    for day, items, shards in ((1, 4, 2), (2, 4, 2), (3, 3, 2), (4, 1, 1), (5, 3, 2))
)


def finish(results: Results, plan: Plan, items: str, *, outcome: str = "accepted") -> None:
    """Leave a run behind that ended: two rows in each part, an exchange, its row in `runs`, shards and a journal."""
    rows = [answered(plan, row, item, outcome) | {"leg": 1} for row, item in enumerate(items)]
    store = results.store
    results.write_plan(plan)
    legs = Legs(results, plan.run_id)
    legs.claim(1)
    parts = []
    for shard in range(plan.shards):
        name = verdicts_name(plan.run_id, plan.run_date, shard, 1)
        parts.append(results.create_part(name, "verdicts", rows[2 * shard : 2 * shard + 2]))
        store.create(f"_runs/{plan.run_id}/shards/{shard:05}.parquet", b"planned")
    call = {"run_id": plan.run_id, "leg": 1, "call": "verify", "started_at": NOW, "request_id": "r", "attempt": 1}
    call |= {"elapsed_ms": 1.0, "bytes_sent": 1}
    parts.append(results.create_part(exchanges_name(plan.run_id, plan.run_date, 0, 1), "exchanges", [call]))
    store.create(f"_runs/{plan.run_id}/journal/001/exchanges-w-000001.arrow", b"left")
    counts = {outcome: len(rows), "remaining": plan.items - len(rows), "finished_at": plan.created_at}
    row = {"run_id": plan.run_id, "leg": 1, "environment": "beta", "ended_by": "complete"}
    named = [{"name": part.name, "rows": part.rows, "sha256": part.sha256} for part in parts]
    legs.write_receipt(1, {"ended_by": "complete", "counts": row | counts, "parts": named})
    results.create_part(runs_name(plan.run_id, plan.run_date, 1), "runs", [row])
    note_leg(results, plan)


def year_old_store(results: Results) -> Results:
    """Fill a store: `a` to `d` were answered again, `x` and `y` never; one run is unfinished, one only planned."""
    finish(results, SUPERSEDED, "abca")
    finish(results, PARTLY, "abxb")
    finish(results, UNFINISHED, "ab")
    results.write_plan(PLANNED)
    finish(results, NEWEST, "abc")
    return results


def found(results: Results, days: int = 400) -> Prunable:
    """Find what can go now."""
    return find_prunable(results, days, Keep.LATEST, NOW)


def prune_all(results: Results) -> list[str]:
    """Prune; name the runs of which something went."""
    return [pruning.run_id for pruning in prune(results, found(results), lambda: NOW)]


def newest(results: Results) -> list[dict[str, Any]]:
    """Return the rows of the snapshot."""
    return [row for table in Snapshot(results.store).rows() for row in table.to_pylist()]


class KilledHere(BaseException):
    """What a killed process would have done next; no handler of the program catches it."""


class KilledAtStep:
    """A results store that no change reaches after so many: what a killed process leaves behind."""

    def __init__(self, store: Store, steps: int) -> None:
        self._store = store
        self._steps = steps

    def __getattr__(self, name: str) -> Callable[..., object]:
        """Hand everything on; count the changes."""

        def change(*arguments: object) -> object:
            self._steps -= 1
            if self._steps < 0:
                raise KilledHere
            return handed_on(*arguments)

        handed_on: Callable[..., object] = getattr(self._store, name)
        return change if name in {"create", "replace", "delete"} else handed_on


def is_killed_at(results: Results, steps: int) -> bool:
    """Prune until a kill after so many changes, each of which is atomic; say whether there was one."""
    try:
        prune_all(Results(KilledAtStep(results.store, steps)))  # type: ignore[arg-type]  # it hands all calls on
    except KilledHere:
        return True
    return False
