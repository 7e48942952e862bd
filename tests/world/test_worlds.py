"""Worlds are played from their seeds, by processes of their own: here, the core has real threads and clocks.

`pytest tests/world --seed N --level L --story` plays one, and tells it line by line.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from .known_faults import KNOWN, KnownFault
from .levels import COUNTS

PLAY = Path(__file__).with_name("play.py")


def played(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, PLAY, *arguments], capture_output=True, text=True, check=False)


@pytest.fixture
def chosen(request: pytest.FixtureRequest) -> dict[str, str]:
    """What a person gave to play one world: its seed, its level, and whether to tell its story."""
    names = ("seed", "level", "story")
    return {name: value for name in names if (value := request.config.getoption(f"--{name}", None))}


@pytest.fixture(scope="module")
def told() -> dict[str, str]:
    """What is told of the worlds of each level: one process plays them all, since loading the core takes seconds."""
    play = played("--worlds", *(f"{level}:{count}" for level, count in COUNTS.items()))
    assert play.returncode in {0, 1}, play.stderr[-10_000:]
    levels = play.stdout.split("== ")[1:]
    return {level.partition("\n")[0]: level for level in levels}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("level", COUNTS)
def test_worlds_of_a_level_hold_what_is_promised(level: str, told: dict[str, str]) -> None:
    """No row is lost, doubled or wrong, whatever is drawn; a failure tells the shortest story that was found."""
    counts = json.loads(told[level].splitlines()[-1])

    assert counts["worlds"] == COUNTS[level]
    assert counts.get("failed", 0) == 0, told[level][-60_000:]


@pytest.mark.timeout(600)
def test_a_chosen_world_holds_what_is_promised(chosen: dict[str, str]) -> None:
    """It is told line by line, if somebody asks for its story."""
    arguments = [text for name in ("level", "seed") if name in chosen for text in (f"--{name}", chosen[name])]
    story = ["--story"] if "story" in chosen else []

    play = played(*arguments, *story)

    print(play.stdout)
    assert play.returncode == 0, play.stdout[-60_000:] + play.stderr[-10_000:]


@pytest.fixture(scope="module")
def shown() -> dict[str, list[str]]:
    """What the world of each known fault shows, by the fault's number: one process plays them all."""
    told = map(json.loads, played("--known").stdout.splitlines())
    return {each["number"]: each["shown"] for each in told}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("fault", [each for each in KNOWN if each.seed is not None], ids=lambda fault: fault.number)
def test_a_known_fault_shows_up(fault: KnownFault, shown: dict[str, list[str]]) -> None:
    """Else nobody would notice that it was mended, and a new fault that looks alike would be taken for it."""
    assert fault.number in shown[fault.number], "It was mended, or its world is another: delete it from known_faults."


def test_a_seed_plays_the_same_night_again() -> None:
    """Else no failure could be looked at."""
    first, second = (played("--level", "all", "--seed", "7", "--story") for _ in range(2))

    assert len(first.stdout.splitlines()) > 50
    assert first.stdout == second.stdout
