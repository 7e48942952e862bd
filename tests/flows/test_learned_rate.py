"""A run learns the rate that the service's lane allows, and stores it for the next run."""

import pytest

from ..worlds.sandbox_world import Samples, SandboxWorld

FILES = 90


@pytest.fixture
def catalog(world: SandboxWorld, samples: Samples) -> str:
    sent = [sample for sample in samples.files if not sample.is_ineligible]
    return world.manifest(sent[:FILES])


def test_a_narrow_lane_is_learned_with_few_throttled_calls(
    world: SandboxWorld, catalog: str, samples: Samples, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every row has its verdict, under a tenth of the calls get 429, and the leg's row holds the rate."""
    monkeypatch.setenv("PROOFSWEEP_PACE__FIRST_RATE", "6")
    monkeypatch.setenv("PROOFSWEEP_CATALOG__DEDUPE", "false")
    world.operator.set_lane(20, 10)

    world.run("verify", catalog)

    wanted = [sample.verdict for sample in samples.files if not sample.is_ineligible][:FILES]
    assert [row["verdict"] for row in world.rows()] == wanted
    (leg,) = world.legs()
    assert 0 < leg["throttled"] < 0.1 * leg["calls"]
    assert 5 < leg["rate_learned"] < 40
