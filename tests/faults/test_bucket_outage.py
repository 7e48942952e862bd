"""A run waits for a results bucket that is unavailable for a time, and meanwhile starts no new item.

A bucket that stays unavailable ends the run: tests/buckets/test_runs_in_buckets.py.
"""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from ..servers.buckets import S3Server
from ..servers.foreign_service import Answer
from ..servers.interruptible_proxy import InterruptibleProxy
from ..worlds.foreign_world import ForeignWorld

ROWS = 120

NOTICED_SECONDS = 6.5  # after five without an answer of the bucket, the run starts nothing new
OUTAGE_SECONDS = 8.0  # so that an item which starts too late would be seen
VERIFY_SECONDS = 0.3  # with four workers, the rest of the rows takes longer than NOTICED_SECONDS


@dataclass
class Outage:
    """Makes the bucket unavailable for a time."""

    world: ForeignWorld
    proxy: InterruptibleProxy
    way: str = "disconnect"  # `disconnect`, so that connections break, or `stall`, so that nothing is answered
    # the number of items that had started after NOTICED_SECONDS, and at the end of the outage
    started: list[int] = field(default_factory=list)

    def verify(self, number: int, usual: Answer) -> Answer:
        """Start the outage during the run; each answer is slow until its end, so that the run lasts longer."""
        if number == ROWS // 4:
            getattr(self.proxy, self.way)()
            threading.Timer(NOTICED_SECONDS, self.note).start()
            threading.Timer(OUTAGE_SECONDS, self.end).start()
        if number >= ROWS // 4 and len(self.started) < 2:
            time.sleep(VERIFY_SECONDS)
        return usual

    def note(self) -> None:
        self.started.append(self.world.service.received["uploads"])

    def end(self) -> None:
        self.note()
        self.proxy.restore()


@pytest.fixture
def outage(bucket_world: ForeignWorld, moto: S3Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Outage]:
    """A proxy in front of the bucket, which is interrupted during the run."""
    proxy = InterruptibleProxy(moto.url)
    monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
    monkeypatch.setenv("PROOFSWEEP_PACE__FIRST_RATE", "100")
    monkeypatch.setenv("PROOFSWEEP_PACE__WORKERS", "4")
    yield Outage(bucket_world, proxy)
    proxy.close()


@pytest.mark.parametrize("way", ["disconnect", "stall"])
def test_a_run_waits_for_a_bucket_that_is_unavailable_for_a_time(
    way: str, outage: Outage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same leg continues, no call is made twice, and none is recorded twice."""
    world, outage.way = outage.world, way
    monkeypatch.setenv("PROOFSWEEP_RETRY__BREAKER_SECONDS", "60")
    world.service.changes["verify"] = outage.verify

    ended_by = world.verify(world.catalog(*["valid", "tampered"] * (ROWS // 2)))

    ids = [row["request_id"] for row in world.table("exchanges") if row["call"] in {"uploads", "verify"}]
    assert ended_by == "complete"
    assert [row["verdict"] for row in world.rows()] == ["valid", "tampered"] * (ROWS // 2)
    assert len(world.legs()) == 1
    assert outage.started[0] == outage.started[1] < ROWS
    assert (world.service.received["uploads"], world.service.received["verify"]) == (ROWS, ROWS)
    assert sorted(ids) == sorted(world.service.ids(calls={"uploads", "verify"}))
