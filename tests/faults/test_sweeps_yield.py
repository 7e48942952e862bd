"""A sweep yields to new deliveries that are verified with the same key."""

import threading
import time

import pytest

from ..worlds.core import plan, use_lane_as_a_pass, work
from ..worlds.foreign_world import ForeignWorld

FILES = 1_500
OBSERVED_SECONDS = 3.0
PART = 60.0 / 5 / 2
"""Files per second."""


def files_in(world: ForeignWorld, seconds: float) -> float:
    """Count the files per second that the sweep begins."""
    before = world.service.received["uploads"]
    time.sleep(seconds)
    return (world.service.received["uploads"] - before) / seconds


@pytest.mark.timeout(300)
def test_a_sweep_goes_on_with_its_part_until_the_new_files_are_verified(
    bare_world: ForeignWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fifth of the rate: six files a second, which are twelve calls; then it is fast again."""
    monkeypatch.setenv("PROOFSWEEP_PACE__FIRST_RATE", "60")
    bare_world.service.answer_late(0.05)
    sweep = threading.Thread(target=work, args=(plan(bare_world.catalog(*["valid"] * FILES)),))
    is_over = threading.Event()
    delivery = threading.Thread(target=use_lane_as_a_pass, args=(is_over,))
    sweep.start()
    bare_world.wait_for(lambda: bare_world.service.received["uploads"] > 20)

    before = files_in(bare_world, OBSERVED_SECONDS)
    delivery.start()
    # First the slots in hand are used, and then it waits a little, since it was too fast.
    bare_world.wait_for(lambda: PART / 2 < files_in(bare_world, 2.0) <= PART + 1.0)
    during = files_in(bare_world, OBSERVED_SECONDS)
    is_over.set()
    delivery.join()
    bare_world.wait_for(lambda: files_in(bare_world, 1.0) > 2 * during)
    after = files_in(bare_world, OBSERVED_SECONDS)
    bare_world.service.close()
    sweep.join()

    print(f"files per second: {before:.1f} before, {during:.1f} during, {after:.1f} after")  # noqa: T201 - for the report
    assert PART / 2 < during <= PART + 1.0
    assert min(before, after) > 2 * during
