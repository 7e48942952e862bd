"""A bucket of results that goes away in mid-run is waited for, and nothing is begun that it could not be told.

One that stays away ends the run: tests/buckets/test_bucket_runs_elsewhere.py.
"""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from ..servers.buckets import S3Server
from ..servers.gate import Gate

World = Any
Says = Any

ROWS = 120
AWAY_SECONDS = 8.0
NOTED_SECONDS = 6.5
"""By when nothing new is begun: five seconds without an answer, and a little."""


@dataclass
class Outage:
    """Lets the bucket be away for a while.

    Attributes:
        way: `shut`, so that connections break, or `hold`, so that nothing is answered.
        begun: how many uploads had been asked for, when nothing more was to be begun, and at the end.
    """

    world: World
    gate: Gate
    way: str = "shut"
    begun: list[int] = field(default_factory=list)

    def twist(self, number: int, usual: Says) -> Says:
        """Begin in mid-run; until its end each call takes its time, so that not all is over before."""
        if number == ROWS // 4:
            getattr(self.gate, self.way)()
            threading.Timer(NOTED_SECONDS, self.note).start()
            threading.Timer(AWAY_SECONDS, self.end).start()
        if number >= ROWS // 4 and len(self.begun) < 2:
            time.sleep(0.3)
        return usual

    def note(self) -> None:
        """See how much has been begun."""
        self.begun.append(self.world.service.asked["uploads"])

    def end(self) -> None:
        """Let the bucket be there again."""
        self.note()
        self.gate.open()


@pytest.fixture
def outage(bucket_world: World, moto: S3Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Outage]:
    """A door before the bucket, which is shut in mid-run."""
    gate = Gate(moto.url)
    monkeypatch.setenv("AWS_ENDPOINT_URL", gate.url)
    monkeypatch.setenv("PROOFSWEEP_PACE__FIRST_RATE", "100")
    monkeypatch.setenv("PROOFSWEEP_PACE__WORKERS", "4")
    yield Outage(bucket_world, gate)
    gate.close()


@pytest.mark.parametrize("way", ["shut", "hold"])
def test_a_bucket_that_is_away_for_a_moment_is_waited_for(
    way: str, outage: Outage, prefect_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same leg goes on with it, no call is made twice, and none is on record twice."""
    world, outage.way = outage.world, way
    monkeypatch.setenv("PREFECT_API_URL", prefect_url)
    monkeypatch.setenv("PROOFSWEEP_RETRY__BREAKER_SECONDS", "60")
    world.service.twists["verify"] = outage.twist

    code = world.run("verify", world.catalog(*["valid", "tampered"] * (ROWS // 2)))

    ids = [row["request_id"] for row in world.table("exchanges") if row["call"] != "slot"]
    assert code == 3
    assert [row["verdict"] for row in world.rows()] == ["valid", "tampered"] * (ROWS // 2)
    assert [leg["ended_by"] for leg in world.legs()] == ["complete"]
    assert outage.begun[0] == outage.begun[1] < ROWS
    assert (world.service.asked["uploads"], world.service.asked["verify"]) == (ROWS, ROWS)
    assert sorted(ids) == sorted(world.service.ids())
