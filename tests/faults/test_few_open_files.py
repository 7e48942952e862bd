"""A process that may open few files works on fewer items at once, and blames no file for it."""

import resource

import pytest

from ..servers.foreign_service import answer_after
from ..worlds.foreign_world import ForeignWorld

FILES, WORKERS, FEW, MANY = 24, 60, 40, 4096


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="no such call on this system")
@pytest.mark.parametrize(("most", "line"), [(FEW, "pace.workers is 1, not 60"), (MANY, "")])
def test_good_files_are_accepted_whatever_the_limit_of_open_files(
    world: ForeignWorld, monkeypatch: pytest.MonkeyPatch, most: int, line: str
) -> None:
    """The limit is raised as far as it can be; below what the workers need, one line says how many work."""
    monkeypatch.setenv("PROOFSWEEP_PACE__WORKERS", str(WORKERS))
    monkeypatch.setenv("PROOFSWEEP_PACE__FIRST_RATE", "200")
    world.service.changes["verify"] = answer_after(0.1)  # so that many workers would hold their files open
    process = world.start("verify", world.catalog(*["valid"] * FILES))
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (FEW, most))

    code = process.wait()

    assert [row["outcome"] for row in world.rows()] == ["accepted"] * FILES
    assert code == 0, world.logs
    assert world.logs.count("(ulimit -n)") == (1 if line else 0)
    assert line in world.logs
