"""An audit finds nothing in a store that nobody touched, however often its runs were killed and resumed.

There is one store of two runs here; `make soak` makes fifty, each a new one.
"""

import os
import random
import shutil
import signal
import time
from contextlib import suppress

import pytest

from ..worlds.command_world import told
from ..worlds.foreign_world import ForeignWorld
from .bare_runner import Runner

STORES = int(os.environ.get("PROOFSWEEP_SOAK_STORES", "1"))
SEED = int(os.environ.get("PROOFSWEEP_SOAK_SEED") or 20261122)
ROWS, RUNS, MOST_KILLS = 24, 2, 3
VERDICTS = ("valid", "tampered", "valid", "unregistered")


def work_until_killed(runner: Runner, run_id: str, chance: random.Random) -> bool:
    """Work on one leg that is killed at one of its writes or at a random moment; say whether it was."""
    write, when = chance.randrange(1, 20), chance.choice(("before", "half", "after", "moment"))
    process = runner.begin(f"leg {run_id} {0 if when == 'moment' else write} {when}")
    if when == "moment":
        time.sleep(chance.uniform(0.05, 0.6))
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    return runner.exit_code() == -signal.SIGKILL


@pytest.mark.timeout(1_800)
def test_an_audit_finds_nothing_in_stores_that_nobody_touched(
    bare_world: ForeignWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each row is proved, and the head of the first run is still held after the second."""
    monkeypatch.setenv("PROOFSWEEP_PACE__WORKERS", "4")
    monkeypatch.setenv("PROOFSWEEP_PACE__FIRST_RATE", "400")
    chance, kills = random.Random(SEED), 0  # noqa: S311
    bare_world.service.answer_late(0.02, ("uploads", "slot", "verify"))
    catalog, runner = bare_world.catalog(*VERDICTS * (ROWS // len(VERDICTS))), Runner()

    for number in range(STORES):
        heads = []
        for _ in range(RUNS):
            assert runner.do(f"plan {catalog}") == 0
            run_id = bare_world.runs[-1]
            kills += sum(work_until_killed(runner, run_id, chance) for _ in range(chance.randrange(1, MOST_KILLS + 1)))
            assert runner.do(f"leg {run_id} 0 never") == 0
            heads.append(bare_world.told("audit")["head"])
        untouched = bare_world.results.rename(bare_world.folder / f"store-{number}")

        done = told("audit", "--head", heads[0], "--results", str(untouched))

        assert done["wrong"] == [], f"store {number} of seed {SEED}"
        assert (done["runs"], done["rows"]) == (RUNS, RUNS * ROWS)
        assert done["head"] == heads[-1]
        shutil.rmtree(untouched)
    assert kills >= STORES
    print(f"{STORES} untouched stores, {RUNS * STORES} runs, {kills} kills: every audit passed")  # noqa: T201 - for `make soak`
