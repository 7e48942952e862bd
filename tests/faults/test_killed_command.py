"""When the command is killed, finished rows are kept and the others are verified later: each row once."""

import random
import threading
import time

import pytest

from ..servers.foreign_service import Answer, answer_after
from ..worlds.foreign_world import ForeignWorld
from ..worlds.started_command import StartedCommand
from ..worlds.waiting import LONGEST_WAIT_SECONDS

ROWS = 240


def kill(process: StartedCommand) -> float:
    now = time.monotonic()
    process.kill()
    process.wait()
    return now


def wait_for_calls(world: ForeignWorld, process: StartedCommand, *, leg: int, calls: int) -> float:
    """Wait until a leg has started and had some answers; give the moment of its start on the monotonic clock."""
    world.wait_for(lambda: world.service.received["health"] >= leg)
    started, enough = time.monotonic(), len(world.service.sent) + calls
    world.wait_for(lambda: len(world.service.sent) >= enough or process.poll() is not None)
    return started


@pytest.mark.timeout(400)
def test_a_run_that_is_killed_three_times_has_each_row_once(
    world: ForeignWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """First while items wait for their answers, whose earlier calls are in the journal; then at random moments.

    Only request IDs of a leg's last two seconds may be missing.
    """
    monkeypatch.setenv("PROOFSWEEP_PACE__FIRST_RATE", "200")
    chance = random.Random(20261120)  # noqa: S311 - for moments
    released, slowly = threading.Event(), answer_after(0.03)

    def wait(number: int, usual: Answer) -> Answer:
        assert released.wait(LONGEST_WAIT_SECONDS)
        return slowly(number, usual)

    world.service.changes["verify"] = wait
    process = world.start("verify", world.catalog(*["valid", "tampered", "local_seal"] * (ROWS // 3)))
    world.wait_for(lambda: world.service.received["verify"] >= 16 or process.poll() is not None)
    world.wait_for(lambda: world.service.ids() <= world.journalled_ids())
    expected_ids = world.service.ids()
    kill(process)
    released.set()
    for leg in (2, 3):
        process = world.start("resume")
        started = wait_for_calls(world, process, leg=leg, calls=chance.randrange(2, 120))
        expected_ids |= world.service.ids(since=started, before=kill(process) - 2.0, calls=("uploads", "verify"))

    code = world.run("resume")

    rows = world.rows()
    assert code == 3
    assert [row["manifest_row"] for row in rows] == list(range(ROWS))
    assert [row["verdict"] for row in rows] == ["valid", "tampered", "local_seal"] * (ROWS // 3)
    assert expected_ids - {row["request_id"] for row in world.table("exchanges")} == set()
    legs = world.legs()
    assert [leg["ended_by"] for leg in legs] == ["killed"] * (len(legs) - 1) + ["complete"]
    assert [leg["accepted"] + leg["rejected"] for leg in legs] == [
        sum(row["leg"] == leg["leg"] for row in rows) for leg in legs
    ]
    assert [leg["remaining"] for leg in legs] == [ROWS - sum(row["leg"] <= leg["leg"] for row in rows) for leg in legs]
