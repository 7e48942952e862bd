"""A failure of one file is told from a failure of the service, even if no other file is left to compare with."""

from collections import Counter
from dataclasses import replace

import pytest

from ..servers.foreign_service import Answer
from ..worlds.core import set_chosen
from ..worlds.foreign_world import ForeignWorld


@pytest.fixture
def world(bare_world: ForeignWorld, monkeypatch: pytest.MonkeyPatch) -> ForeignWorld:
    """Leave time for a few attempts with a health probe between them."""
    monkeypatch.setenv("PROOFSWEEP_RETRY__BREAKER_SECONDS", "2")
    set_chosen(monkeypatch, probe_wait_seconds=0.2)
    return bare_world


def fail_for_poison(_number: int, usual: Answer) -> Answer:
    return replace(usual, status=500) if usual.document.get("verdict") == "poison" else usual


def fail_for_all(_number: int, usual: Answer) -> Answer:
    return replace(usual, status=500)


def outcomes(world: ForeignWorld) -> Counter[tuple[object, object]]:
    return Counter((row["outcome"], row["reason"]) for row in world.rows())


def test_poison_at_the_very_end_fails_its_own_rows(world: ForeignWorld) -> None:
    """No other file is left to verify, but the probe audio is answered, and its calls are recorded."""
    world.service.changes["verify"] = fail_for_poison

    ended_by = world.verify(world.catalog(*["valid"] * 5, "poison", "poison"))

    assert ended_by == "complete"
    assert outcomes(world) == {("accepted", None): 5, ("failed", "http_500"): 2}
    assert world.service.ids(calls={"uploads", "verify"}) <= {row["request_id"] for row in world.table("exchanges")}


@pytest.mark.parametrize("call", ["uploads", "slot"])
def test_a_single_row_is_not_failed_by_an_outage(world: ForeignWorld, call: str) -> None:
    """The row remains; when the service works again, it is verified."""
    world.service.changes[call] = fail_for_all
    stopped = world.verify(catalog := world.catalog("valid"))
    rows_then = world.rows()
    world.service.changes.clear()

    resumed = world.verify(catalog)

    assert (stopped, rows_then, resumed) == ("breaker", [], "complete")
    assert outcomes(world) == {("accepted", None): 1}


def test_poison_that_remains_after_an_outage_fails_its_own_rows(world: ForeignWorld) -> None:
    """The next leg has only poison, and does not end with `breaker` once more."""
    world.service.changes["verify"] = fail_for_all
    stopped = world.verify(catalog := world.catalog("poison", "poison"))
    world.service.changes["verify"] = fail_for_poison

    resumed = world.verify(catalog)

    assert (stopped, resumed) == ("breaker", "complete")
    assert outcomes(world) == {("failed", "http_500"): 2}
