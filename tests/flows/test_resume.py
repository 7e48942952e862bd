"""A run that was stopped or killed goes on where it was, and ends as if it had never stopped."""

import json
import signal
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest

import sandbox

Samples = tuple[Path, list[sandbox.Sample]]
World = Any

ROWS = 5_000
TWO_SHARDS = 1_500


@pytest.fixture
def large_catalog(world: World, samples: Samples) -> str:
    """A manifest of 5,000 rows over the sample files."""
    return str(world.manifest(islice(cycle(samples[1]), ROWS)))


@pytest.fixture
def catalog_of_two_shards(world: World, samples: Samples) -> str:
    """A manifest of 1,500 rows over the sample files."""
    return str(world.manifest(islice(cycle(samples[1]), TWO_SHARDS)))


def stop_in_the_middle(world: World, leg: int, number: int, *arguments: str) -> int:
    """Start a command, send it a signal once the leg has finished some rows, and give its exit code."""
    process = world.start(*arguments)
    world.wait_for(lambda: world.journalled(leg) or process.poll() is not None)
    process.send_signal(number)
    return int(process.wait(timeout=60))


def essence(rows: list[dict[str, object]]) -> list[tuple[object, ...]]:
    """Take from each row what does not depend on when it was made."""
    return [(row["manifest_row"], row["item_id"], row["audio"], row["outcome"], row["verdict"]) for row in rows]


def test_a_run_stopped_and_resumed_twice_equals_one_that_was_never_stopped(
    world: World, samples: Samples, large_catalog: str
) -> None:
    """Ctrl-C, SIGTERM, and a last leg: 5,000 rows, each once, each right; calls are spent once."""
    stopped = stop_in_the_middle(world, 1, signal.SIGINT, "verify", large_catalog)
    stopped_again = stop_in_the_middle(world, 2, signal.SIGTERM, "resume")
    code = world.run("resume")

    rows = world.rows()
    wanted = [samples[1][number % 300] for number in range(ROWS)]
    assert (stopped, stopped_again, code) == (6, 6, 3)
    assert essence(rows) == [
        (number, f"item-{number}", str(one.audio), row["outcome"], one.verdict)
        for number, (one, row) in enumerate(zip(wanted, rows, strict=True))
    ]
    legs = sorted(world.table("runs"), key=lambda leg: int(str(leg["leg"])))
    assert [leg["ended_by"] for leg in legs] == ["cancelled", "cancelled", "complete"]
    verified = sum(row["calls"] for row in rows)
    assert verified == 2 * sum(row["outcome"] != "ineligible" for row in rows)
    charged = sum(key["limit"] - key["remaining"] for key in world.operator.usage(world.tenant))
    assert sum(leg["calls"] for leg in legs) == charged


def test_a_killed_run_loses_nothing_and_doubles_nothing(world: World, catalog_of_two_shards: str) -> None:
    """After kill -9, the next leg publishes what the dead one had written down, under the dead one's names."""
    killed = stop_in_the_middle(world, 1, signal.SIGKILL, "verify", catalog_of_two_shards)
    code = world.run("resume")

    rows = world.rows()
    assert (killed, code) == (-signal.SIGKILL, 3)
    assert [row["manifest_row"] for row in rows] == list(range(TWO_SHARDS))
    assert {row["leg"] for row in rows} == {1, 2}
    legs = sorted(world.table("runs"), key=lambda leg: int(str(leg["leg"])))
    assert [leg["ended_by"] for leg in legs] == ["killed", "complete"]
    in_flight_and_a_second = sum(row["leg"] == 1 for row in rows)
    assert in_flight_and_a_second == sum(legs[0][word] for word in ("accepted", "rejected", "ineligible"))


def test_receipts_chain_and_name_every_part(world: World, catalog_of_two_shards: str) -> None:
    """Each receipt holds the digest of the plan and of the receipt before it, and every part with its rows."""
    stop_in_the_middle(world, 1, signal.SIGINT, "verify", catalog_of_two_shards)
    world.run("resume")

    first, second = (
        json.loads(path.read_bytes()) for path in sorted(world.results.glob("_runs/*/legs/*/receipt.json"))
    )
    parts = {part["name"]: part["rows"] for receipt in (first, second) for part in receipt["parts"]}
    assert first["previous_receipt_sha256"] is None
    assert len(second["previous_receipt_sha256"]) == 64
    assert first["plan_sha256"] == second["plan_sha256"]
    assert sum(rows for name, rows in parts.items() if name.startswith("verdicts/")) == TWO_SHARDS
    assert {name for name in parts if name.startswith("verdicts/")} == {
        str(path.relative_to(world.results)) for path in world.results.glob("verdicts/*/*.parquet")
    }


def test_a_second_leg_is_refused_while_the_first_is_alive(world: World, large_catalog: str) -> None:
    """`resume` against a live leg ends with 9 and touches nothing."""
    process = world.start("verify", large_catalog)
    world.wait_for(lambda: world.journalled(1))

    code = world.run("resume")

    process.send_signal(signal.SIGINT)
    assert code == 9
    assert process.wait(timeout=60) == 6
    assert [path.name for path in world.results.glob("_runs/*/legs/*")] == ["001"]


def test_a_finished_run_is_not_touched_by_resume(world: World, samples: Samples) -> None:
    """`resume` of a run that is over gives its exit code again and makes no leg."""
    valid = [sample for sample in samples[1] if sample.verdict == "valid"]
    first = world.run("verify", world.manifest(valid[:3]))

    again = world.run("resume")

    assert (first, again) == (0, 0)
    assert [path.name for path in world.results.glob("_runs/*/legs/*")] == ["001"]
