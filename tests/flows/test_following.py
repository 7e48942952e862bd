"""A run is followed from another terminal as soon as it is planned, before a process works on it."""

from itertools import cycle, islice

import pytest

from ..worlds.sandbox_world import Samples, SandboxWorld


def test_a_run_that_starts_is_waited_for(
    world: SandboxWorld, samples: Samples, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its Prefect server takes seconds. Nobody is told to resume what is about to begin, the second leg neither."""
    catalog = world.manifest(islice(cycle(samples.valid), 12))
    followed: list[tuple[int, str, bool]] = []

    for command in (["verify", catalog, "--max-calls", "11"], ["resume"]):
        legs = len(list(world.results.glob("_runs/*/legs/*")))
        process = world.start(*command)
        world.wait_for(lambda: any(world.results.glob("_runs/*/plan.json")))
        was_early = len(list(world.results.glob("_runs/*/legs/*"))) == legs
        code = world.run("status", "--follow")
        followed.append((code, capsys.readouterr().err, was_early))
        assert process.wait(timeout=60) == code

    assert [(code, was_early) for code, _, was_early in followed] == [(6, True), (0, True)]
    assert all("Waiting up to a minute for one that starts" in err for _, err, _ in followed)
