"""A file that the service fails for is told from a service that fails, also where no other file is left to compare."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

World = Any
Says = Any


@pytest.fixture
def world(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """Leave time for a few tries, and for a question in between."""
    monkeypatch.setenv("PROOFSWEEP_RETRY__BREAKER_SECONDS", "4")
    return world


def choke(_number: int, usual: Says) -> Says:
    """Fail for poison, and for nothing else."""
    return replace(usual, status=500) if usual.document.get("verdict") == "poison" else usual


def fail(_number: int, usual: Says) -> Says:
    """Fail for everyone."""
    return replace(usual, status=500)


def outcomes(world: World) -> Counter[tuple[object, object]]:
    """Count the rows by outcome and reason."""
    return Counter((row["outcome"], row["reason"]) for row in world.rows())


def test_poison_at_the_very_end_fails_its_own_rows(world: World) -> None:
    """Nobody else is left to be answered; a file of silence is, and its calls are written down."""
    world.service.twists["verify"] = choke

    code = world.run("verify", world.catalog(*["valid"] * 5, "poison", "poison"))

    assert code == 4
    assert outcomes(world) == {("accepted", None): 5, ("failed", "http_500"): 2}
    assert world.service.ids() <= {row["request_id"] for row in world.table("exchanges")}
    assert [leg["ended_by"] for leg in world.legs()] == ["complete"]


@pytest.mark.parametrize("call", ["uploads", "slot", "verify"])
def test_a_single_row_is_not_blamed_for_an_outage(world: World, call: str) -> None:
    """Exit 8, and it remains; when the service is well again, it is verified."""
    world.service.twists[call] = fail
    stopped = world.run("verify", world.catalog("valid"))
    then = world.rows()
    world.service.twists.clear()

    code = world.run("resume")

    assert (stopped, then, code) == (8, [], 0)
    assert [leg["ended_by"] for leg in world.legs()] == ["breaker", "complete"]


def test_poison_that_an_outage_left_over_is_found_when_it_is_over(world: World) -> None:
    """The next leg has nothing but poison, and does not end in the breaker again and again."""
    world.service.twists["verify"] = fail
    stopped = world.run("verify", world.catalog("poison", "poison"))
    world.service.twists["verify"] = choke

    code = world.run("resume")

    assert (stopped, code) == (8, 4)
    assert outcomes(world) == {("failed", "http_500"): 2}
