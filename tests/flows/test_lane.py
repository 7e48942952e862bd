"""A run learns the service's lane in real time, and the next run remembers it."""

from pathlib import Path

import pytest

import sandbox

from .conftest import World

FILES = 90


@pytest.fixture
def catalog(world: World, samples: tuple[Path, list[sandbox.Sample]]) -> str:
    """Give a manifest of files that are all sent."""
    sent = [sample for sample in samples[1] if not sample.is_ineligible]
    return world.manifest(sent[:FILES])


def test_a_narrow_lane_is_learned_and_hardly_throttles(
    world: World, catalog: str, samples: tuple[Path, list[sandbox.Sample]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every row is answered, few calls are refused, and the rate is kept in the leg's row for the next run."""
    monkeypatch.setenv("PROOFSWEEP_PACE__FIRST_RATE", "6")
    world.operator.set_lane(20, 10)

    world.run("verify", catalog, "--no-dedupe")

    wanted = [sample.verdict for sample in samples[1] if not sample.is_ineligible][:FILES]
    assert [row["verdict"] for row in world.rows()] == wanted
    (leg,) = world.table("runs")
    assert isinstance(leg["throttled"], int)
    assert isinstance(leg["calls"], int)
    assert 0 < leg["throttled"] < 0.1 * leg["calls"]
    assert isinstance(leg["rate_learned"], float)
    assert 5 < leg["rate_learned"] < 40
