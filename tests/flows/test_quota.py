"""A run stays within the quota, the calls and the hours that it was given, and what remains is done another day."""

from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest

import sandbox

Samples = tuple[Path, list[sandbox.Sample]]
World = Any

ROWS = 40
A_MONTH = 31 * 86_400.0


@pytest.fixture
def catalog(world: World, samples: Samples) -> str:
    """Forty valid files."""
    valid = [sample for sample in samples[1] if sample.verdict == "valid"]
    return str(world.manifest(islice(cycle(valid), ROWS)))


def used(world: World) -> int:
    """Ask the sandbox what it has counted for this test's key in this month."""
    (meter,) = world.operator.usage(world.tenant)
    return int(meter["limit"] - meter["remaining"])


def test_a_run_stops_itself_before_the_quota_ends_and_the_next_month_does_the_rest(
    world: World, catalog: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 5, and no call was refused; until the reset `resume` says so and leaves the service alone."""
    world.operator.set_quota(60, tenant=world.tenant)
    stopped = world.run("verify", catalog)
    (leg,) = world.table("runs")
    used_then = used(world)
    capsys.readouterr()
    too_early = world.run("resume")
    said = capsys.readouterr().err
    uploads = len([each for each in world.table("exchanges") if each["call"] == "uploads"])

    world.operator.move_clock(A_MONTH)
    try:
        code = world.run("resume")
    finally:
        world.operator.move_clock(-A_MONTH)

    assert (stopped, too_early, code) == (5, 5, 0)
    assert (leg["ended_by"], leg["calls"], leg["throttled"]) == ("quota", used_then, 0)
    assert (leg["quota_before"], leg["quota_after"]) == (59, 60 - used_then)
    assert 28 <= leg["accepted"] <= 29
    assert "it resets" in said
    assert uploads == leg["accepted"]
    assert len(world.rows()) == ROWS


def test_a_reserve_is_left_to_others(world: World, catalog: str) -> None:
    """It counts as if it were spent; less than the reserve at the start is the quota's end at once."""
    world.operator.set_quota(100, tenant=world.tenant)

    stopped = world.run("verify", catalog, "--reserve", "60")
    at_once = world.run("resume", "--reserve", "60")

    (leg,) = world.table("runs")
    assert (stopped, at_once, leg["ended_by"]) == (5, 5, "quota")
    assert 36 <= leg["calls"] <= 40


def test_a_budget_of_calls_is_not_overshot(world: World, catalog: str) -> None:
    """The looks at the headroom are in it; exit 6, and `resume` goes on."""
    stopped = world.run("verify", catalog, "--max-calls", "21")
    (leg,) = world.table("runs")

    code = world.run("resume")

    assert (stopped, code) == (6, 0)
    assert (leg["ended_by"], leg["accepted"], leg["calls"]) == ("window", 9, 20)
    assert sum(each["calls"] for each in world.table("runs")) == used(world)


def test_a_window_closes_on_a_run(world: World, catalog: str, capsys: pytest.CaptureFixture[str]) -> None:
    """In good order: what has begun is finished, and the instant was said before the start."""
    world.operator.set_latency("verify", 1.5)
    stopped = world.run("verify", catalog, "--max-duration", "2s")
    said = capsys.readouterr()
    world.operator.clear_faults()

    code = world.run("resume")

    first, second = sorted(world.table("runs"), key=lambda leg: leg["leg"])
    assert (stopped, code) == (6, 0)
    assert (first["ended_by"], second["ended_by"]) == ("window", "complete")
    assert first["accepted"] + second["accepted"] == ROWS
    assert "Stops at 20" in said.out


@pytest.mark.parametrize("until", ["2020-01-01T06:00", "noon"])
def test_a_window_that_cannot_be_is_refused_before_anything_is_written(world: World, catalog: str, until: str) -> None:
    """Exit 2."""
    code = world.run("verify", catalog, "--until", until)

    assert code == 2
    assert not world.results.exists()


def test_the_headroom_is_looked_at_while_the_run_goes_on(
    world: World, catalog: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The looks are calls like others, and recorded as belonging to no row."""
    monkeypatch.setenv("PROOFSWEEP_BOUNDS__ASK_SECONDS", "0.3")
    monkeypatch.setenv("PROOFSWEEP_PACE__WORKERS", "2")
    world.operator.set_latency("verify", 0.4)

    code = world.run("verify", catalog, "--max-calls", "30")

    looks = [each for each in world.table("exchanges") if each["call"] == "usage"]
    assert code == 6
    assert len(looks) > 2
    assert {look["manifest_row"] for look in looks} == {None}
    assert all(look["rate_remaining"] is not None for look in looks)


def kill_in_the_middle(world: World, catalog: str) -> None:
    """Start a run and kill it outright once it has written something down."""
    world.operator.set_latency("verify", 0.3)
    process = world.start("verify", catalog)
    world.wait_for(lambda: world.journalled(1) or process.poll() is not None)
    process.kill()
    process.wait()
    world.operator.clear_faults()


def test_what_a_killed_leg_spent_beyond_its_journal_is_not_guessed(world: World, samples: Samples) -> None:
    """Its row says that it is not known; calls for what the killed leg had been answered are counted as made again."""
    valid = [sample for sample in samples[1] if sample.verdict == "valid"]
    kill_in_the_middle(world, world.manifest(islice(cycle(valid), 250)))
    spent_by_the_dead = used(world)

    code = world.run("resume")

    dead, successor = sorted(world.table("runs"), key=lambda leg: leg["leg"])
    in_hand = {row["manifest_row"] for row in world.rows() if row["leg"] == 2}
    had = [
        each["call"]
        for each in world.table("exchanges")
        if each["leg"] == 1 and each["manifest_row"] in in_hand and each["call"] in {"uploads", "verify"}
    ]
    assert code == 0
    assert (dead["ended_by"], dead["quota_before"]) == ("killed", 999_999)
    assert dead["calls_unrecorded"] is None
    assert dead["calls"] <= spent_by_the_dead
    assert successor["calls"] == used(world) - spent_by_the_dead
    assert len(had) > 0
    assert (dead["calls_again"], successor["calls_again"]) == (0, len(had))
