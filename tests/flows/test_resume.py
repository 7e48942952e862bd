"""A run that was stopped or killed continues, and ends with the same rows as one that never stopped."""

import signal
from itertools import cycle, islice

import pytest

from ..servers.alert_receivers import Webhook, end_of
from ..worlds.sandbox_world import Samples, SandboxWorld

ROWS = 160


@pytest.fixture
def large_run(world: SandboxWorld, samples: Samples, monkeypatch: pytest.MonkeyPatch) -> str:
    """A planned run of two batches over the sample files, at a service whose answers take some time; its ID."""
    world.operator.add_fault("verify", "slow", seconds=0.4)
    monkeypatch.setenv("PROOFSWEEP_PACE__WORKERS", "8")
    return world.plan_batches(world.manifest(islice(cycle(samples.files), ROWS)), ROWS // 2, monkeypatch)


def stop_during_run(world: SandboxWorld, leg: int, number: int, *arguments: str) -> int:
    """Start a command, send it a signal after the leg has finished some rows; give its exit code."""
    process = world.start(*arguments)
    world.wait_for(lambda: world.journalled(leg) or process.poll() is not None)
    process.send_signal(number)
    return process.wait(timeout=60)


def test_a_run_stopped_and_resumed_twice_equals_one_that_was_never_stopped(
    world: SandboxWorld, samples: Samples, large_run: str, hook: Webhook
) -> None:
    """Ctrl-C, SIGTERM and a last leg: each row once and right, no call is made twice, and receipts for all.

    The shutdown is told, and a person's own stop is not. `resume` of what is finished gives its code and opens no leg.
    """
    planned = world.charged  # by a process that worked on no leg
    stopped = stop_during_run(world, 1, signal.SIGINT, "resume", large_run)
    told_first = [*hook.titles]
    stopped_again = stop_during_run(world, 2, signal.SIGTERM, "resume")
    codes = [world.run("resume"), world.run("resume")]

    rows = world.rows()
    wanted = list(islice(cycle(samples.files), ROWS))
    assert (stopped, stopped_again, codes) == (6, 6, [3, 3])
    assert (told_first, [title.partition("rows")[2] for title in hook.titles]) == (
        [],
        [f" remain (sandbox, {end_of(world.folder / 'catalog.csv')})"],
    )
    assert [(row["manifest_row"], row["item_id"], row["audio"], row["verdict"]) for row in rows] == [
        (number, f"item-{number}", str(one.audio), one.verdict) for number, one in enumerate(wanted)
    ]
    legs = world.legs()
    assert [leg["ended_by"] for leg in legs] == ["cancelled", "interrupted", "complete"]
    verified = sum(row["calls"] for row in rows)
    assert verified == 2 * sum(row["outcome"] != "ineligible" for row in rows)
    assert sum(leg["calls"] for leg in legs) == world.charged - planned
    assert world.run("audit") == 0


def test_a_run_of_pairs_is_not_resumed_without_the_wire_name(
    world: SandboxWorld, samples: Samples, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was planned with the name; without it a leg would spend calls on pairs that it cannot verify."""
    catalog = world.manifest([sample for sample in samples.valid if sample.sidecar][:3])
    stopped = world.run("verify", catalog, "--max-calls", "2")
    calls_before, legs_before = world.charged, len(world.legs())
    config = world.folder / "unnamed.toml"
    config.write_text('[service]\nenvironment = "sandbox"\n')

    refused = world.run("resume", "--config", str(config))

    assert (stopped, refused) == (6, 2)
    assert "service.sidecar_field" in capsys.readouterr().err
    assert len(world.legs()) == legs_before
    assert world.charged - calls_before <= 2  # for the quota
