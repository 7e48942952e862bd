"""A run stays within its quota, its number of calls and its hours; the rows that remain are for a later leg."""

from datetime import UTC, datetime, timedelta
from itertools import cycle, islice

import pytest

from ..worlds.core import set_chosen
from ..worlds.sandbox_world import Samples, SandboxWorld

ROWS = 40
MONTH_SECONDS = 31 * 86_400.0

pytestmark = pytest.mark.usefixtures("without_prefect")


@pytest.fixture
def catalog(world: SandboxWorld, samples: Samples) -> str:
    return world.manifest(islice(cycle(samples.valid), ROWS))


def test_a_run_stops_itself_before_the_quota_ends_and_the_next_month_does_the_rest(
    world: SandboxWorld, catalog: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 5 and no refused call; until the quota's reset `resume` says so and verifies nothing."""
    world.operator.set_quota(60, tenant=world.tenant)
    stopped = world.run("verify", catalog)
    (leg,) = world.legs()
    charged = world.charged
    capsys.readouterr()
    too_early = world.run("resume")
    said = capsys.readouterr().err
    uploads = len([each for each in world.table("exchanges") if each["call"] == "uploads"])

    world.operator.move_clock(MONTH_SECONDS)
    try:
        code = world.run("resume")
    finally:
        world.operator.move_clock(-MONTH_SECONDS)

    assert (stopped, too_early, code) == (5, 5, 0)
    assert (leg["ended_by"], leg["calls"], leg["throttled"]) == ("quota", charged, 0)
    assert (leg["quota_before"], leg["quota_after"]) == (59, 60 - charged)
    assert 28 <= leg["accepted"] <= 29
    assert "it resets" in said
    assert uploads == leg["accepted"]
    assert len(world.rows()) == ROWS


def test_a_reserve_is_left_to_others(world: SandboxWorld, catalog: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reserve counts as spent; a run that starts with less than the reserve ends at once."""
    world.operator.set_quota(100, tenant=world.tenant)
    monkeypatch.setenv("PROOFSWEEP_BOUNDS__RESERVE", "60")

    stopped = world.run("verify", catalog)
    at_once = world.run("resume")

    (leg,) = world.legs()
    assert (stopped, at_once, leg["ended_by"]) == (5, 5, "quota")
    assert 36 <= leg["calls"] <= 40


def test_a_limit_on_calls_is_not_exceeded(world: SandboxWorld, catalog: str) -> None:
    """Calls of GET /usage count too; exit 6, and `resume` does the rest."""
    stopped = world.run("verify", catalog, "--max-calls", "21")
    (leg,) = world.legs()

    code = world.run("resume")

    assert (stopped, code) == (6, 0)
    assert (leg["ended_by"], leg["accepted"], leg["calls"]) == ("window", 9, 20)
    assert sum(each["calls"] for each in world.table("runs")) == world.charged


def test_a_window_of_the_command_line_replaces_that_of_the_config(
    world: SandboxWorld, catalog: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The instant that is printed is the one that holds: the config's second is over long before."""
    monkeypatch.setenv("PROOFSWEEP_BOUNDS__MAX_DURATION", "1s")
    world.operator.add_fault("verify", "slow", seconds=1.5)
    tomorrow = datetime.now(UTC) + timedelta(days=1)

    code = world.run("verify", catalog, "--until", f"{tomorrow:%Y-%m-%dT%H:%MZ}")

    (leg,) = world.legs()
    assert (code, leg["ended_by"], leg["accepted"]) == (0, "complete", ROWS)
    assert f"Stops at {tomorrow:%Y-%m-%d %H:%M}" in capsys.readouterr().out


def test_the_quota_is_read_during_the_run(world: SandboxWorld, catalog: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call of GET /usage is recorded without a manifest row."""
    set_chosen(monkeypatch, quota_probe_seconds=0.3)
    monkeypatch.setenv("PROOFSWEEP_PACE__WORKERS", "2")
    world.operator.add_fault("verify", "slow", seconds=0.4)

    code = world.run("verify", catalog, "--max-calls", "30")

    readings = [each for each in world.table("exchanges") if each["call"] == "usage"]
    assert code == 6
    assert len(readings) > 2
    assert {reading["manifest_row"] for reading in readings} == {None}
    assert all(reading["rate_remaining"] is not None for reading in readings)
