"""The service may grow at any time, also during a run (contract, Versioning 2-3, Verdicts)."""

from collections import Counter
from collections.abc import Iterator

import pytest

import proofsweep_sandbox as sandbox

from ..worlds.sandbox_world import Samples, SandboxWorld

UNKNOWN = {"valid_device", "pending", "withdrawn"}


@pytest.fixture
def later_release(running: sandbox.Running) -> Iterator[None]:
    """The shared sandbox as a later release, with other choices where the contract leaves one."""
    running.operator.set_silences(11, evolve=True)
    yield
    running.operator.set_silences()


@pytest.mark.usefixtures("later_release")
def test_a_later_release_changes_no_row(world: SandboxWorld, samples: Samples) -> None:
    """New members, codes and values change no row; a new verdict is stored as received and never accepted."""
    before = {str(sample.audio): sample.verdict for sample in samples.files}

    code = world.run("verify", str(samples.folder))

    rows = world.rows()
    assert code == 3
    assert {row["verdict"] for row in rows if row["reason"] == "unknown_verdict"} == UNKNOWN
    assert all(row["outcome"] == "rejected" for row in rows if row["verdict"] in UNKNOWN)
    assert all(row["verdict"] == before[str(row["audio"])] for row in rows if row["verdict"] not in UNKNOWN)
    assert all(row["verify_attempts"] == (row["verdict"] is not None) for row in rows)


@pytest.mark.usefixtures("later_release")
def test_an_announced_end_is_recorded(world: SandboxWorld, samples: Samples) -> None:
    """The Sunset header of each API answer is in `exchanges` and in the leg's row."""
    world.run("verify", world.manifest(samples.files[:5]))

    by_call = Counter((row["call"], row["sunset"] is not None) for row in world.table("exchanges"))
    (leg,) = world.table("runs")
    assert leg["sunset"].endswith(" GMT")
    assert {call for call, has_sunset in by_call if has_sunset} == {"health", "usage", "uploads", "verify"}
    assert {call for call, has_sunset in by_call if not has_sunset} <= {"slot"}
