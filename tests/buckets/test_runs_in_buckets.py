"""Catalog and results in buckets: after a stop and a resume each row is right, and common tools read the tables."""

import signal
from collections import Counter
from collections.abc import Callable

import duckdb
import pandas as pd
import pytest

import proofsweep_sandbox as sandbox

from ..servers.buckets import Bucket, S3Server
from ..worlds.bucket_world import BucketWorld, deliver, write_manifest
from ..worlds.sandbox_world import Samples

MakeWorld = Callable[[Bucket], BucketWorld]


@pytest.fixture
def world(make_world: MakeWorld, moto: S3Server, monkeypatch: pytest.MonkeyPatch) -> BucketWorld:
    """A world whose few workers are still at work when a signal comes."""
    monkeypatch.setenv("PROOFSWEEP_PACE__WORKERS", "8")
    return make_world(moto.new_bucket())


@pytest.fixture(scope="module")
def samples(running: sandbox.Running, tmp_path_factory: pytest.TempPathFactory) -> Samples:
    """Release folders with every kind of sample, and their verdicts; a name holds a backslash."""
    folder = tmp_path_factory.mktemp("catalog")
    return Samples(folder, sandbox.write_catalog(folder, running.operator, files=52))


@pytest.fixture(scope="module")
def delivery(moto: S3Server, samples: Samples) -> Bucket:
    """A bucket that holds the samples below `deliveries`, and a manifest of them."""
    bucket = moto.new_bucket()
    deliver(samples.folder, bucket, "deliveries")
    bucket.put("catalogs/all.csv", write_manifest(samples.files, samples.folder, "../deliveries"))
    return bucket


@pytest.mark.timeout(600)
def test_run_over_a_prefix_that_is_stopped_has_every_row_right(
    world: BucketWorld, delivery: Bucket, samples: Samples, moto: S3Server, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each row once with its verdict; as many calls as the service charged; common tools read the tables."""
    world.interrupt(f"{delivery.url}/deliveries", signal.SIGTERM, after=16)

    code = world.run("resume")

    rows, legs = world.rows(), world.legs()
    assert code == 3
    assert [row["manifest_row"] for row in rows] == list(range(len(samples.files)))
    assert verdicts_of(rows) == expected_of(samples, f"{delivery.url}/deliveries")
    assert [(leg["leg"], leg["ended_by"]) for leg in legs] == [(1, "interrupted"), (2, "complete")]
    assert {row["leg"] for row in rows} == {1, 2}
    assert sum(int(str(leg["calls"])) for leg in legs) == world.charged
    assert tool_counts(world) == [Counter(str(row["outcome"]) for row in rows)] * 2
    check_page_in_the_bucket(world)
    world.check_secrets(moto.secrets, world.logs + "".join(capfd.readouterr()))


@pytest.mark.timeout(600)
def test_run_over_a_manifest_that_is_killed_has_every_row_right(
    world: BucketWorld, delivery: Bucket, samples: Samples
) -> None:
    """The killed leg's journal is published; other rows are verified again, and no row is there twice."""
    world.interrupt(f"{delivery.url}/catalogs/all.csv", signal.SIGKILL, after=16)

    code = world.run("resume")

    rows, legs = world.rows(), world.legs()
    assert code == 3
    assert [(row["manifest_row"], row["item_id"]) for row in rows] == [
        (at, f"item-{at}") for at in range(len(samples.files))
    ]
    assert verdicts_of(rows) == expected_of(samples, f"{delivery.url}/deliveries")
    assert [(leg["leg"], leg["ended_by"]) for leg in legs] == [(1, "killed"), (2, "complete")]
    assert {row["leg"] for row in rows} == {1, 2}
    sent = {one["request_id"] for one in world.operator.exchanges() if one["tenant"] in {world.tenant, None}}
    recorded = [one["request_id"] for one in world.table("exchanges") if one["call"] != "slot"]
    assert len(recorded) == len(set(recorded))
    assert set(recorded) - sent == set()


def check_page_in_the_bucket(world: BucketWorld) -> None:
    """Write the catalog's page beside the results; a page is replaced, another object is not."""
    world.bucket.put("pages/list.html", b"another list")
    codes = [world.run("report", "--file", f"{world.bucket.url}/pages/{name}.html") for name in ("all", "all", "list")]

    assert codes == [0, 0, 2]
    assert world.bucket.content("pages/all.html").startswith(b"<!doctype html>")
    assert world.bucket.content("pages/list.html") == b"another list"


def verdicts_of(rows: list[dict[str, object]]) -> dict[object, object]:
    return {row["audio"]: row["verdict"] for row in rows}


def expected_of(samples: Samples, place: str) -> dict[object, object]:
    """Return the verdict that each audio below `place` must have."""
    return {f"{place}/{one.audio.relative_to(samples.folder).as_posix()}": one.verdict for one in samples.files}


def tool_counts(world: BucketWorld) -> list[Counter[str]]:
    """Count outcomes with DuckDB and pandas, in a copy of the bucket."""
    for key in world.bucket.keys("results/verdicts"):
        path = world.folder / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(world.bucket.content(key))
    parts = world.folder / "results/verdicts"
    with duckdb.connect() as database:
        counted = database.execute(
            "SELECT outcome, count(*) FROM read_parquet(?) GROUP BY ALL", [f"{parts}/*/*.parquet"]
        ).fetchall()
    frame = pd.read_parquet(parts)
    return [Counter(dict(counted)), Counter(dict(frame["outcome"].value_counts()))]
