"""Files that fail beside each other end with rows of their own, and all others are finished in the same leg.

`PROOFSWEEP_SOAK_ALIKE="1 12 40 450"` prints a table for so many of them, of twice as many files and at least 60.
"""

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ..servers.foreign_service import Answer, Change
from ..worlds.core import plan, set_chosen, work
from ..worlds.foreign_world import ForeignWorld

NUMBERS = [int(number) for number in os.environ.get("PROOFSWEEP_SOAK_ALIKE", "12").split()]
FEW = 12
"""Up to so many beside each other, other files are answered soon enough, and no probe is sent."""


@pytest.fixture
def world(bare_world: ForeignWorld, monkeypatch: pytest.MonkeyPatch) -> ForeignWorld:
    """Everything that runs need, with little time until a probe and a time-out."""
    monkeypatch.setenv("PROOFSWEEP_RETRY__ATTEMPTS", "3")
    set_chosen(monkeypatch, probe_wait_seconds=0.5)
    monkeypatch.setenv("PROOFSWEEP_TIMEOUTS__READ_SECONDS", "1")
    return bare_world


def for_poison(change: Callable[[Answer], Answer]) -> Change:
    return lambda _number, usual: change(usual) if usual.document.get("verdict") == "poison" else usual


def late(usual: Answer) -> Answer:
    time.sleep(1.0)
    return usual


HOW: dict[str, Callable[[Answer], Answer]] = {
    "503": lambda usual: replace(usual, status=503),
    "422": lambda usual: replace(usual, status=422, document={"error": "no", "code": "unprocessable"}),
    "403": lambda _usual: Answer(403, b"<html>blocked</html>"),
    "time-out": late,
    "hang-up": lambda usual: replace(usual, breaks="unanswered"),
}


def files(world: ForeignWorld, number: int) -> str:
    """Write a catalog in which so many files beside each other will fail."""
    good = max(number, 60 - number) // 2
    return world.catalog(*["valid"] * good, *["poison"] * number, *["valid"] * good)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("how", [*HOW, "source"])
def test_files_that_fail_alike_hold_nobody_up(world: ForeignWorld, how: str, number: int) -> None:
    """One leg: each of these files has its own row, and so has each other one, whose answers are evidence enough."""
    catalog = files(world, number)
    if how in HOW:
        world.service.changes["verify"] = for_poison(HOW[how])
    run_id = plan(catalog)
    if how == "source":
        good = max(number, 60 - number) // 2
        for row in range(good, good + number):
            Path(world.folder / f"{row}.wav").unlink()

    work(run_id)

    rows = world.rows()
    others = [row for row in rows if row["outcome"] == "accepted"]
    exchanges = [each for each in world.table("exchanges") if each["call"] in {"uploads", "verify"}]
    probes = [each for each in exchanges if each["manifest_row"] is None]
    print(  # noqa: T201 - the table that a soak prints
        f"| {number} | {how} | 1 | {len(rows)} of {len(others) + number} | {len(exchanges)} | {len(probes)} |"
    )
    assert [leg["ended_by"] for leg in world.legs()] == ["complete"]
    assert len(others) == 2 * (max(number, 60 - number) // 2)
    assert len(rows) == len(others) + number
    assert {row["accepted"] for row in rows if row not in others} == {False}
    assert len(probes) <= (0 if number <= FEW else 40)


@pytest.mark.parametrize("how", ["422", "503"])
def test_files_that_fail_before_any_was_accepted_hold_nobody_up(world: ForeignWorld, how: str) -> None:
    """There is no accepted file yet that could show whose fault it is."""
    number = 60
    run_id = plan(world.catalog(*["poison"] * number, *["valid"] * number))
    world.service.changes["verify"] = for_poison(HOW[how])

    work(run_id)

    outcomes = [row["outcome"] for row in world.rows()]
    assert [leg["ended_by"] for leg in world.legs()] == ["complete"]
    assert (outcomes.count("failed"), outcomes.count("accepted")) == (number, number)
