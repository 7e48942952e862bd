"""A catalog goes in, and one right row for each of its files comes out."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import sandbox

Samples = tuple[Path, list[sandbox.Sample]]
World = Any


def expected_of(samples: list[sandbox.Sample]) -> dict[str, str | None]:
    """Say which verdict each audio must get."""
    return {str(sample.audio): sample.verdict for sample in samples}


@pytest.mark.parametrize("kind", ["folder", "manifest"])
def test_every_file_of_a_catalog_gets_its_verdict(world: World, samples: Samples, kind: str) -> None:
    """Of 300 files with every verdict, each row is right: as a scan of the folder and as a manifest."""
    folder, expected = samples
    catalog = str(folder) if kind == "folder" else world.manifest(expected)

    code = world.run("verify", catalog)

    rows = world.rows()
    assert code == 3
    assert {row["audio"]: row["verdict"] for row in rows} == expected_of(expected)
    assert all(row["accepted"] == (row["verdict"] == "valid") for row in rows)
    assert all((row["outcome"] == "ineligible") == (row["verdict"] is None) for row in rows)
    assert [row["manifest_row"] for row in rows] == list(range(300))


def test_every_request_id_of_the_partner_is_in_the_audit_trail(world: World, samples: Samples) -> None:
    """What the service handed out to this key, and what its storage answered, is what `exchanges` holds."""
    since = world.operator.exchanges()[-1]["seq"]

    world.run("verify", str(samples[0]))

    given = [one for one in world.operator.exchanges(since) if one["tenant"] == world.tenant and one["status"]]
    kept = Counter(str(row["request_id"]) for row in world.table("exchanges"))
    assert {one["request_id"] for one in given} <= set(kept)
    assert max(kept.values()) == 1
    assert len([row for row in world.table("exchanges") if row["call"] in {"uploads", "verify", "usage"}]) == len(
        [one for one in given if one["call"] in {"uploads", "verify", "usage"}]
    )


def test_calls_are_counted_as_the_partner_counts_them(world: World, samples: Samples) -> None:
    """The `runs` table says as many calls as the service charged to the key."""
    world.run("verify", str(samples[0]))

    (run,) = world.table("runs")
    charged = sum(key["limit"] - key["remaining"] for key in world.operator.usage(world.tenant))
    assert run["calls"] == charged
    assert run["ended_by"] == "complete"
    assert (run["items"], run["remaining"]) == (300, 0)


def test_tags_of_a_manifest_stay_with_their_rows(world: World, samples: Samples) -> None:
    """Columns that the pipeline does not know come back as JSON."""
    world.run("verify", world.manifest(samples[1][:20]))

    assert [json.loads(str(row["tags"]))["ISRC"] for row in world.rows()] == [f"XX{at}" for at in range(20)]


def test_a_small_and_a_large_run_name_the_same_items_alike(world: World, samples: Samples) -> None:
    """Item ids are a matter of the catalog, not of the run, its size or its order."""
    folder, _ = samples
    world.run("verify", str(folder))
    first = {row["audio"]: row["item_id"] for row in world.rows()}

    world.run("verify", str(folder))

    again = [row for row in world.rows() if first[row["audio"]] == row["item_id"]]
    assert len(again) == 600


def test_json_adds_up(world: World, samples: Samples, capsys: pytest.CaptureFixture[str]) -> None:
    """The summary object's counts are the catalog's."""
    world.run("verify", str(samples[0]), "--json")

    told = json.loads(capsys.readouterr().out)

    counted = sum(told[word] for word in ("accepted", "rejected", "failed", "ineligible", "remaining"))
    assert counted == told["items"] == 300
    assert told["ended_by"] == "complete"
