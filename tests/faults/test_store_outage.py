"""A results store that fails: a run waits for it, and meanwhile starts no new item; nothing that was finished is lost.

A bucket that stays unavailable ends the run: tests/buckets/test_runs_in_buckets.py.
"""

import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from ..servers.buckets import S3Server
from ..servers.foreign_service import Answer
from ..servers.interruptible_proxy import InterruptibleProxy
from ..worlds.command_world import export_settings, fill
from ..worlds.foreign_world import ForeignWorld

ROWS = 120
VERDICTS = ["valid", "tampered"] * (ROWS // 2)
OUTAGE_SECONDS = 8.0  # so that an item which starts too late would be seen
VERIFY_SECONDS = 0.3  # with four workers, the rest of the rows takes longer than a failure needs to be noticed


@pytest.fixture
def proxy(moto: S3Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[InterruptibleProxy]:
    """A proxy in front of the bucket."""
    proxy = InterruptibleProxy(moto.url)
    monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
    yield proxy
    proxy.close()


@pytest.mark.parametrize(
    ("way", "noticed_seconds"),
    [("disconnect", 6.5), ("stall", 6.5), ("fill", 4.0)],  # a bucket does not answer for five; a write fails within one
)
def test_a_run_waits_for_a_store_that_is_unavailable_for_a_time(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, way: str, noticed_seconds: float
) -> None:
    """The same leg continues, no call is made twice, and none is recorded twice."""
    begin: Callable[[], None]
    if way == "fill":
        world, filler = request.getfixturevalue("bare_world"), request.getfixturevalue("small_disk") / "filler"
        begin, end = partial(fill, filler), filler.unlink
    else:
        world, proxy = request.getfixturevalue("bucket_world"), request.getfixturevalue("proxy")
        begin, end = getattr(proxy, way), proxy.restore
    export_settings(monkeypatch, {"RETRY__BREAKER_SECONDS": "60", "PACE__WORKERS": "4", "PACE__FIRST_RATE": "100"})
    started: list[int] = []

    def note(act: Callable[[], None]) -> None:
        started.append(world.service.received["uploads"])
        act()

    def fail_for_a_time(number: int, usual: Answer) -> Answer:
        if number == ROWS // 4:
            begin()
            threading.Timer(noticed_seconds, note, [lambda: None]).start()
            threading.Timer(OUTAGE_SECONDS, note, [end]).start()
        if number >= ROWS // 4 and len(started) < 2:
            time.sleep(VERIFY_SECONDS)
        return usual

    world.service.changes["verify"] = fail_for_a_time

    ended_by = world.verify(world.catalog(*VERDICTS))

    ids = [row["request_id"] for row in world.table("exchanges") if row["call"] in {"uploads", "verify"}]
    assert ended_by == "complete"
    assert [row["verdict"] for row in world.rows()] == VERDICTS
    assert len(world.legs()) == 1
    assert started[0] == started[1] < ROWS
    assert (world.service.received["uploads"], world.service.received["verify"]) == (ROWS, ROWS)
    assert sorted(ids) == sorted(world.service.ids(calls={"uploads", "verify"}))


def test_a_full_disk_ends_the_run_and_resume_finishes_it(world: ForeignWorld, small_disk: Path) -> None:
    """The run stops with one line and no traceback; when there is space again, each row is there once.

    Until then `doctor` ends as the run did: it is an outage, and no mistake of a setting.
    """
    filler = small_disk / "filler"

    def fill_once(number: int, usual: Answer) -> Answer:
        if number == ROWS // 4:
            fill(filler)
        return usual

    world.service.changes["verify"] = fill_once

    stopped = world.start("verify", world.catalog(*VERDICTS)).wait()
    looked = world.run("doctor")
    filler.unlink()
    code = world.run("resume")

    assert (stopped, looked, code) == (8, 8, 3)
    assert "No space left" in world.logs
    assert "proofsweep resume" in world.logs
    assert "Traceback" not in world.logs
    assert [row["manifest_row"] for row in world.rows()] == list(range(ROWS))
    assert [row["verdict"] for row in world.rows()] == VERDICTS
