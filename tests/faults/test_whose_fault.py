"""Files that fail beside each other end with rows of their own, and all others are finished in the same leg.

`PROOFSWEEP_SOAK_ALIKE="1 12 40 450"` prints a table for so many of them, of twice as many files and at least 60.
"""

import os
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest

from ..servers.foreign_service import Answer, Change
from ..worlds.command_world import export_settings
from ..worlds.core import plan, set_chosen, work
from ..worlds.foreign_world import ForeignWorld

NUMBERS = [int(number) for number in os.environ.get("PROOFSWEEP_SOAK_ALIKE", "12").split()]
FEW = 12
"""Up to so many beside each other, other files are answered soon enough; probes are sent at the leg's end only."""
MOST_CALLS_FOR_PROBES = 40


@pytest.fixture
def world(bare_world: ForeignWorld, monkeypatch: pytest.MonkeyPatch) -> ForeignWorld:
    """Everything that runs need, with little time until a time-out and a few probes."""
    settings = {"RETRY__ATTEMPTS": "3", "RETRY__BREAKER_SECONDS": "2", "TIMEOUTS__READ_SECONDS": "0.5"}
    export_settings(monkeypatch, settings)
    set_chosen(monkeypatch, probe_wait_seconds=0.5)
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

TRIES = {"source": (0, 0), "422": (1, 1), "503": (2, 3), "hang-up": (2, 3), "time-out": (2, 5), "403": (2, 7)}
"""How often a file is tried, at least and at most: with three calls a try, but with one where it gets a 403."""


@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("how", [*HOW, "source"])
def test_files_that_fail_alike_hold_nobody_up(world: ForeignWorld, how: str, number: int) -> None:
    """One leg: each of these files has its own row, and so has each other one, whose answers are evidence enough.

    A file is tried until its failed calls are more than chance: beside some fifty that came out right, six of them. One
    whose content is refused is tried once. One that times out holds others back, so that no answer to them shows
    anything at that time: it is tried again at the end.
    """
    good = max(number, 60 - number) // 2
    run_id = plan(world.catalog(*["valid"] * good, *["poison"] * number, *["valid"] * good))
    if how == "source":
        for row in range(good, good + number):
            Path(world.folder / f"{row}.wav").unlink()
    else:
        world.service.changes["verify"] = for_poison(HOW[how])

    work(run_id, 4 if how == "time-out" else 1)

    rows = world.rows()
    others = [row for row in rows if row["outcome"] == "accepted"]
    exchanges = [each for each in world.table("exchanges") if each["call"] in {"uploads", "verify"}]
    probes = [each for each in exchanges if each["manifest_row"] is None]
    print(  # noqa: T201 - the table that a soak prints
        f"| {number} | {how} | 1 | {len(rows)} of {len(others) + number} | {len(exchanges)} | {len(probes)} |"
    )
    assert [leg["ended_by"] for leg in world.legs()] == ["complete"]
    assert len(others) == 2 * good
    tried = Counter(each["manifest_row"] for each in exchanges if (each["call"], each["status"]) == ("uploads", 200))
    times = [tried[row] for row in range(good, good + number)]  # a slot that ends on a busy machine is one more
    least, most = TRIES[how]
    assert least <= min(times) <= median(times) <= most
    assert len(rows) == len(others) + number
    assert {row["outcome"] for row in rows if row not in others} == {"ineligible" if how == "source" else "failed"}
    few = 16 if most > 1 else 0
    assert len(probes) <= (few if number <= FEW else MOST_CALLS_FOR_PROBES)


@pytest.mark.parametrize("how", ["422", "503"])
def test_files_that_fail_before_any_was_accepted_hold_nobody_up(world: ForeignWorld, how: str) -> None:
    """There is no accepted file yet that could show whose fault it is."""
    world.service.changes["verify"] = for_poison(HOW[how])

    ended_by = world.verify(world.catalog(*["poison"] * 60, *["valid"] * 60))

    assert ended_by == "complete"
    assert Counter(row["outcome"] for row in world.rows()) == {"failed": 60, "accepted": 60}


@pytest.mark.parametrize("are_pairs", [False, True])
def test_poison_at_the_very_end_fails_its_own_rows(
    world: ForeignWorld, monkeypatch: pytest.MonkeyPatch, *, are_pairs: bool
) -> None:
    """No other file is left to verify, but the probe audio is answered, and its calls are recorded.

    Among pairs the probe has a sidecar too: a service may verify the one kind, and not the other.
    """
    monkeypatch.setenv("PROOFSWEEP_SERVICE__SIDECAR_FIELD", "sidecar")
    world.service.changes["verify"] = for_poison(HOW["503"])

    ended_by = world.verify(world.catalog(*["valid"] * 5, "poison", "poison", are_pairs=are_pairs))

    assert ended_by == "complete"
    assert Counter(row["reason"] for row in world.rows()) == {None: 5, "http_503": 2}
    assert {sidecar is not None for sidecar in world.service.sidecars} == {are_pairs}
    assert world.service.ids(calls={"uploads", "verify"}) <= {row["request_id"] for row in world.table("exchanges")}


def test_poison_that_remains_after_an_outage_fails_its_own_rows(world: ForeignWorld) -> None:
    """The next leg has only poison, and does not end with `breaker` once more."""
    world.service.changes["verify"] = lambda _number, usual: HOW["503"](usual)
    stopped = world.verify(catalog := world.catalog("poison", "poison"))
    world.service.changes["verify"] = for_poison(HOW["503"])

    resumed = world.verify(catalog)

    assert (stopped, resumed) == ("breaker", "complete")
    assert Counter((row["outcome"], row["reason"]) for row in world.rows()) == {("failed", "http_503"): 2}
