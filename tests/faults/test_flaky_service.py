"""A service that fails again and again, or half of the time: no file is blamed for that, and one that is bad still is.

`PROOFSWEEP_SOAK_SPELLS=1` also plays outages of 8 s with 4 s between them for three minutes.
"""

import os
import time
from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from ..servers.foreign_service import Answer, Change
from ..worlds.command_world import export_settings
from ..worlds.core import set_chosen
from ..worlds.foreign_world import ForeignWorld

CALLS = ("uploads", "slot", "verify")
FASTER = 10  # than with the usual settings
MOST_LEGS = 20


def in_spells(down_seconds: float, up_seconds: float) -> Change:
    """Let a service work, be down, and so on, by the clock."""
    began_at = time.monotonic() + up_seconds

    def fail(_number: int, usual: Answer) -> Answer:
        seconds = (time.monotonic() - began_at) % (down_seconds + up_seconds)
        return replace(usual, status=503) if seconds < down_seconds else usual

    return fail


def half_of_all(random: Random) -> Change:
    return lambda _number, usual: replace(usual, status=503) if random.random() < 0.5 else usual


def verify_to_the_end(world: ForeignWorld, catalog: str) -> list[str]:
    """Work on a catalog, and go on with what remains in legs of their own; say how each ended."""
    endings = [world.verify(catalog)]
    while endings[-1] != "complete" and len(endings) < MOST_LEGS:
        endings.append(world.verify(catalog))
    return endings


def make_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    export_settings(monkeypatch, {"RETRY__ATTEMPTS": "5", "RETRY__BREAKER_SECONDS": "5", "PACE__FIRST_RATE": "40"})
    set_chosen(monkeypatch, probe_wait_seconds=0.2, first_wait_seconds=0.5 / FASTER, beside_seconds=1.0 / FASTER)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("how", ["spells", "half"])
def test_a_service_that_fails_again_and_again_makes_no_row_failed(
    bare_world: ForeignWorld, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Two outages may meet a file in its two tries, and so may two series of chance refusals."""
    make_faster(monkeypatch)
    change = in_spells(8.0 / FASTER, 4.0 / FASTER) if how == "spells" else half_of_all(Random(7))  # noqa: S311 - draws faults, guards nothing
    bare_world.service.changes |= dict.fromkeys(CALLS, change)

    endings = verify_to_the_end(bare_world, bare_world.catalog(*["valid"] * 100))

    assert endings[-1] == "complete", endings
    assert Counter(row["outcome"] for row in bare_world.rows()) == {"accepted": 100}


@pytest.mark.timeout(900)
@pytest.mark.skipif("PROOFSWEEP_SOAK_SPELLS" not in os.environ, reason="takes minutes: make soak")
def test_outages_of_eight_seconds_for_three_minutes_make_no_row_failed(bare_world: ForeignWorld) -> None:
    """With the settings that people have."""
    bare_world.service.changes |= dict.fromkeys(CALLS, in_spells(8.0, 4.0))

    endings = verify_to_the_end(bare_world, bare_world.catalog(*["valid"] * 1_000))

    assert endings[-1] == "complete", endings
    assert Counter(row["outcome"] for row in bare_world.rows()) == {"accepted": 1_000}


@pytest.mark.timeout(300)
def test_one_bad_file_among_chance_refusals_costs_no_second_leg(
    bare_world: ForeignWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One call in twenty fails for no fault of its file; the bad one fails each time, and its row says so."""
    make_faster(monkeypatch)
    random = Random(7)  # noqa: S311 - draws faults, guards nothing

    def fail(_number: int, usual: Answer) -> Answer:
        is_bad = usual.document.get("verdict") == "poison"
        return replace(usual, status=503) if is_bad or random.random() < 0.05 else usual

    bare_world.service.changes["verify"] = fail

    ended_by = bare_world.verify(bare_world.catalog(*["valid"] * 50, "poison", *["valid"] * 50))

    assert ended_by == "complete"
    assert Counter(row["outcome"] for row in bare_world.rows()) == {"accepted": 100, "failed": 1}
