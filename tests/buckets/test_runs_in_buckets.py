"""Catalogs and results in buckets: after a stop or an outage each row is right, and common tools read the tables.

A run with results in a bucket that is killed: tests/faults/test_killed_anywhere.py.
"""

import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import duckdb
import pandas as pd
import pytest

import proofsweep_sandbox as sandbox

from ..servers.buckets import AzureServer, Bucket, S3Server
from ..servers.interruptible_proxy import InterruptibleProxy
from ..worlds.bucket_world import BucketWorld, deliver, write_manifest
from ..worlds.sandbox_world import Samples

KINDS = 26
"""So many first samples have every kind once."""
REPEATED = 3
"""So often each is in a catalog that a test interrupts."""

MakeWorld = Callable[[Bucket], BucketWorld]


@pytest.fixture(scope="module")
def samples(running: sandbox.Running, tmp_path_factory: pytest.TempPathFactory) -> Samples:
    """Release folders with every kind of sample, and their verdicts; a name holds a backslash."""
    folder = tmp_path_factory.mktemp("catalog")
    return Samples(folder, sandbox.write_catalog(folder, running.operator, files=2 * KINDS))


def check_verdicts(world: BucketWorld, folder: Path, files: Sequence[sandbox.Sample], place: str) -> None:
    """Check that each audio below `place` has its verdict once."""
    expected = {f"{place}/{one.audio.relative_to(folder).as_posix()}": one.verdict for one in files}
    rows = world.rows()
    assert [row["manifest_row"] for row in rows] == list(range(len(expected)))
    assert {row["audio"]: row["verdict"] for row in rows} == expected


@pytest.mark.timeout(600)
def test_run_over_a_prefix_that_is_stopped_has_every_row_right(
    make_world: MakeWorld,
    moto: S3Server,
    monkeypatch: pytest.MonkeyPatch,
    samples: Samples,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Each row once with its verdict; as many calls as the service charged; common tools read the tables."""
    monkeypatch.setenv("PROOFSWEEP_PACE__WORKERS", "8")  # so few are still at work when the signal comes
    delivery, world = moto.new_bucket(), make_world(moto.new_bucket())
    deliver(samples.folder, delivery, "deliveries")
    world.interrupt(f"{delivery.url}/deliveries", signal.SIGTERM, after=16)

    code = world.run("resume")

    rows, legs = world.rows(), world.legs()
    assert code == 3
    check_verdicts(world, samples.folder, samples.files, f"{delivery.url}/deliveries")
    assert [(leg["leg"], leg["ended_by"]) for leg in legs] == [(1, "interrupted"), (2, "complete")]
    assert {row["leg"] for row in rows} == {1, 2}
    assert sum(int(str(leg["calls"])) for leg in legs) == world.charged
    assert tool_counts(world) == [Counter(str(row["outcome"]) for row in rows)] * 2
    check_page_in_the_bucket(world)
    world.check_secrets(moto.secret_key, world.logs + "".join(capfd.readouterr()))


def check_page_in_the_bucket(world: BucketWorld) -> None:
    """Write the catalog's page beside the results; a page is replaced, another object is not."""
    world.bucket.put("pages/list.html", b"another list")
    codes = [world.run("report", "--file", f"{world.bucket.url}/pages/{name}.html") for name in ("all", "all", "list")]

    assert codes == [0, 0, 2]
    assert world.bucket.content("pages/all.html").startswith(b"<!doctype html>")
    assert world.bucket.content("pages/list.html") == b"another list"


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


def test_glob_of_manifests_in_a_bucket_is_one_catalog(make_world: MakeWorld, moto: S3Server, samples: Samples) -> None:
    """Its manifests are read in the order of their names."""
    world = make_world(moto.new_bucket())
    deliver(samples.folder, world.bucket, "audio")
    for at, part in enumerate((samples.files[:10], samples.files[10:])):
        world.bucket.put(f"lists/part-{at}.csv", write_manifest(part, samples.folder, "../audio", 10 * at))
    world.bucket.put("lists/notes.txt", b"no manifest")

    assert world.run("verify", f"{world.bucket.url}/lists/part-*.csv") == 3

    check_verdicts(world, samples.folder, samples.files, f"{world.bucket.url}/audio")
    first = [f"{world.bucket.url}/audio/{one.audio.relative_to(samples.folder).as_posix()}" for one in samples.files]
    assert [row["audio"] for row in world.rows()] == first


def test_catalog_and_results_are_in_azure(
    make_world: MakeWorld, azurite: AzureServer, capfd: pytest.CaptureFixture[str]
) -> None:
    """The run is the same as elsewhere, and no secret of the cloud is in its output or in the results."""
    world = make_world(azurite.new_bucket())
    folder = world.folder / "samples"
    written = sandbox.write_catalog(folder, world.operator, files=KINDS)
    for path in folder.rglob("*\\*"):  # Azure reads a backslash as a slash
        path.unlink()
    deliver(folder, world.bucket, "audio")

    codes = [world.run("verify", f"{world.bucket.url}/{name}", "--json") for name in ("audio", "nothing-here")]

    assert codes == [3, 2]
    there = [sample for sample in written if sample.audio.exists()]
    check_verdicts(world, folder, there, f"{world.bucket.url}/audio")
    assert [leg["calls"] for leg in world.legs()] == [world.charged]
    world.check_secrets(azurite.key, "".join(capfd.readouterr()))


@pytest.fixture
def proxy(moto: S3Server) -> Iterator[InterruptibleProxy]:
    proxy = InterruptibleProxy(moto.url)
    yield proxy
    proxy.close()


def test_run_whose_bucket_is_unavailable_fails_no_row_and_is_resumed(
    make_world: MakeWorld, moto: S3Server, proxy: InterruptibleProxy, monkeypatch: pytest.MonkeyPatch, samples: Samples
) -> None:
    """It waits, then publishes what it finished, and the next leg does the rest. Only the manifest is local."""
    delivery, world = moto.new_bucket(), make_world(moto.new_bucket())
    deliver(samples.folder, delivery, "audio")
    files = samples.files[:KINDS] * REPEATED
    manifest = world.folder / "catalog.csv"
    manifest.write_bytes(write_manifest(files, samples.folder, f"{delivery.url}/audio"))
    monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
    monkeypatch.setenv("PROOFSWEEP_RETRY__BREAKER_SECONDS", "2")
    monkeypatch.setenv("PROOFSWEEP_CATALOG__DEDUPE", "false")
    monkeypatch.setenv("PROOFSWEEP_CATALOG__COLUMNS__ID", "id")
    world.operator.add_fault("verify", "slow", after=16, seconds=3.0)
    process = world.start("verify", str(manifest))
    world.wait_for(lambda: world.journalled(1) or process.poll() is not None)
    proxy.disconnect()
    stopped = process.wait(timeout=100)
    proxy.restore()
    world.operator.clear_faults()

    code = world.run("resume")

    rows = world.rows()
    assert (stopped, code) == (8, 3), world.logs
    assert "Traceback" not in world.logs
    assert [row["manifest_row"] for row in rows] == list(range(len(files)))
    assert [row["verdict"] for row in rows] == [one.verdict for one in files]
    assert {row["leg"] for row in rows} == {1, 2}
    assert not [row["reason"] for row in rows if str(row["reason"]).startswith("source_")]
