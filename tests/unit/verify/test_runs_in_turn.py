"""A catalog's unfinished run goes on first, and what is due has the rest of the calls."""

from dataclasses import replace
from pathlib import Path

from proofsweep.domain.runs import Bounds, Plan
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results
from proofsweep.verify.resume import RunChoice

from ...worlds.ended_runs import end_leg, plan_of_run


def test_only_the_calls_of_this_time_are_spent(tmp_path: Path) -> None:
    """Of a run of two partitions one may have ended weeks ago: what is due must not wait for its calls."""
    results = Results(FolderStore(tmp_path))
    run = plan_of_run("20261120T120000Z_000aa", items=400, partitions=2)
    end_leg(results, run, leg=1, calls=5_000, remaining=10)
    end_leg(results, run, leg=2, ended_by="window", calls=20, remaining=10)

    def plan(rest: Bounds) -> Plan:
        assert rest.max_calls == 83
        return replace(run, run_id="20261130T120000Z_000bb")

    worked_on = []
    for run_id, bounds in RunChoice(results=results, environment="beta").in_turn(
        run, plan, Bounds(max_calls=100), lambda: False
    ):
        worked_on.append((run_id, bounds.max_calls))
        if run_id == run.run_id:
            end_leg(results, run, leg=4, ended_by="killed", calls=7, remaining=10)
            end_leg(results, run, leg=6, calls=10, remaining=0)

    assert worked_on == [(run.run_id, 100), ("20261130T120000Z_000bb", 83)]
