"""The worlds see what they should: each deliberate break of the core is found in its world, which is clean without it.

`make soak` plays the whole list; the others, two breaks that the first world finds.
"""

import os
from pathlib import Path

import pytest

from tests.world.breaks import BREAKS, Break
from tests.world.test_worlds import played

_ALWAYS = ("the slot is used twice", "a mark is off by one")
_IS_SOAK = bool(os.environ.get("PROOFSWEEP_SOAK_BREAKS"))


def test_each_break_replaces_a_text_that_stands_once() -> None:
    """So the list follows the code."""
    root = Path(__file__).parents[2]
    files = {each.module: root / f"{each.module.replace('.', '/')}.py" for each in BREAKS}
    counts = {each.name: files[each.module].read_text().count(each.old) for each in BREAKS}

    assert {name: count for name, count in counts.items() if count != 1} == {}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("broken", BREAKS, ids=[each.name for each in BREAKS])
def test_a_break_of_the_core_is_found(broken: Break) -> None:
    """Else a check, or a disturbance, is lacking."""
    if not (_IS_SOAK or broken.name in _ALWAYS):
        pytest.skip("PROOFSWEEP_SOAK_BREAKS is not set: `make soak` plays the whole list")
    world = ("--level", broken.level, "--seed", str(broken.seed), "--brief")

    with_it, without_it = played(*world, "--break", broken.name), played(*world)

    assert with_it.returncode == 1, with_it.stdout[-5_000:] + with_it.stderr[-5_000:]
    assert f"{broken.level} {broken.seed}: {broken.check}: " in with_it.stdout
    assert without_it.returncode == 0, without_it.stdout[-5_000:] + without_it.stderr[-5_000:]
