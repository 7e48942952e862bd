"""Whenever the command is killed, what it had done is kept, and what it had not is done later: each row once."""

import random
import subprocess
import time
from typing import Any

import pytest

World = Any

KILLS = 3
ROWS = 1_050
"""More than one shard, so that the rows in a killed leg's hands are of several."""


def end(process: "subprocess.Popen[bytes]") -> float:
    """Kill a process outright; give the moment."""
    now = time.monotonic()
    process.kill()
    process.wait()
    return now


def test_request_ids_of_work_in_hand_outlive_the_process(world: World) -> None:
    """An item may hang for minutes at the service; what it was told until then is on record within a second."""
    release: list[bool] = []

    def hang(_number: int, usual: Any) -> Any:  # noqa: ANN401 - the fixture's type
        world.wait_for(lambda: bool(release))
        return usual

    world.service.twists["verify"] = hang
    process = world.start("verify", world.catalog(*["valid"] * 20))
    world.wait_for(lambda: world.service.asked["verify"] >= 16 or process.poll() is not None)
    world.wait_for(lambda: world.service.ids() <= world.journalled_ids())
    told = world.service.ids()
    end(process)
    release.append(True)

    code = world.run("resume")

    assert code == 0
    assert len(world.rows()) == 20
    assert told <= {row["request_id"] for row in world.table("exchanges")}


@pytest.mark.timeout(400)
def test_a_run_killed_again_and_again_loses_nothing_and_doubles_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three kills at moments drawn by lot: each row once; of a leg's request IDs only the last moments' are lost."""
    monkeypatch.setenv("PROOFSWEEP_PACE__FIRST_RATE", "200")
    chance = random.Random(20261120)  # noqa: S311 - draws moments
    world.service.twists["verify"] = lambda _number, usual: time.sleep(0.03) or usual
    catalog = world.catalog(*["valid", "tampered", "local_seal"] * (ROWS // 3))
    owed: set[str] = set()
    process = world.start("verify", catalog)
    for number in range(KILLS):
        world.wait_for(lambda: world.service.asked["health"] > number)  # noqa: B023 - it is over before the next round
        began, enough = time.monotonic(), len(world.service.given) + chance.randrange(2, 400)
        world.wait_for(lambda: len(world.service.given) >= enough or process.poll() is not None)  # noqa: B023 - as above
        owed |= world.service.ids(since=began, before=end(process) - 2.0, calls=("uploads", "verify"))
        process = world.start("resume")
    end(process)

    code = world.run("resume")

    rows = world.rows()
    assert code == 3
    assert [row["manifest_row"] for row in rows] == list(range(ROWS))
    assert [row["verdict"] for row in rows] == ["valid", "tampered", "local_seal"] * (ROWS // 3)
    assert owed - {row["request_id"] for row in world.table("exchanges")} == set()
    legs = world.legs()
    assert [leg["ended_by"] for leg in legs] == ["killed"] * (len(legs) - 1) + ["complete"]
    assert sum(leg["accepted"] + leg["rejected"] for leg in legs) == ROWS
    assert [leg["remaining"] for leg in legs] == [ROWS - sum(row["leg"] <= leg["leg"] for row in rows) for leg in legs]
