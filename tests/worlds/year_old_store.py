"""A store of five old runs, and a way to prune it that is killed at a given step."""

from collections.abc import Callable
from datetime import UTC, datetime

from .core import Plan, Results, Store, StoredRun, prune_old
from .ended_runs import answered, plan_of_run

NOW = datetime(2026, 11, 20, tzinfo=UTC)
SUPERSEDED, PARTLY, UNFINISHED, PLANNED, NEWEST = (
    plan_of_run(f"202501{day:02}T120000Z_000aa", items=items, batch_items=2)
    for day, items in ((1, 4), (2, 4), (3, 3), (4, 1), (5, 3))
)


def finish(results: Results, plan: Plan, items: str, *, outcome: str = "accepted") -> None:
    """Leave a run behind that ended: parts of two rows, an exchange, its row in `runs`, planned items, a journal."""
    rows = [answered(plan, row, item, outcome) | {"leg": 1} for row, item in enumerate(items)]
    run = StoredRun(results, plan)
    run.write_items(items)
    run.write_plan()
    run.take(1)
    parts = [run.write_part("verdicts", rows[2 * each : 2 * each + 2], seq=each) for each in range(len(plan.batches))]
    call = {"run_id": plan.run_id, "leg": 1, "call": "verify", "started_at": NOW, "request_id": "r", "attempt": 1}
    call |= {"elapsed_ms": 1.0, "bytes_sent": 1}
    parts.append(run.write_part("exchanges", [call]))
    results.store.create(f"_runs/{plan.run_id}/journal/001/exchanges-w-000001.arrow", b"left")
    counts = {outcome: len(rows), "remaining": plan.items - len(rows), "finished_at": plan.created_at}
    ended_by = "complete" if len(rows) == plan.items else "window"
    row = {"run_id": plan.run_id, "leg": 1, "environment": "beta", "ended_by": ended_by}
    run.write_receipt(1, ended_by, counts=row | counts, parts=parts)
    run.write_part("runs", [row])
    run.note()


def year_old_store(results: Results) -> Results:
    """Fill a store: `a` to `d` were answered again, `x` and `y` never; one run is unfinished, one only planned."""
    finish(results, SUPERSEDED, "abca")
    finish(results, PARTLY, "abxb")
    finish(results, UNFINISHED, "ab")
    StoredRun(results, PLANNED).write_plan()
    finish(results, NEWEST, "abc")
    return results


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
        prune_old(Results(KilledAtStep(results.store, steps)), 400, NOW)  # type: ignore[arg-type]  # it hands all calls on
    except KilledHere:
        return True
    return False
