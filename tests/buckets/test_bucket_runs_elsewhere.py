"""Catalogs and results in several places: local manifests, globs, Azure, a bucket that becomes unavailable."""

from collections.abc import Callable, Iterator

import pytest

import proofsweep_sandbox as sandbox

from ..servers.buckets import AzureServer, Bucket, S3Server
from ..servers.interruptible_proxy import InterruptibleProxy
from ..worlds.bucket_world import BucketWorld, deliver, write_manifest
from ..worlds.sandbox_world import Samples

FILES = 26
"""Every kind of sample once."""
REPEATED = 3
"""So often each is in a catalog that a test interrupts."""

MakeWorld = Callable[[Bucket], BucketWorld]


@pytest.fixture(scope="module")
def samples(running: sandbox.Running, tmp_path_factory: pytest.TempPathFactory) -> Samples:
    """Every kind of sample, and its verdict; Azure reads a backslash as a slash, so no name has one."""
    folder = tmp_path_factory.mktemp("catalog")
    written = sandbox.write_catalog(folder, running.operator, files=FILES)
    for path in folder.rglob("*\\*"):
        path.unlink()
    return Samples(folder, [sample for sample in written if sample.audio.exists()])


def check_verdicts(world: BucketWorld, samples: Samples, place: str) -> None:
    """Check that each audio below `place` has its verdict once."""
    expected = {f"{place}/{one.audio.relative_to(samples.folder).as_posix()}": one.verdict for one in samples.files}
    rows = world.rows()
    assert len(rows) == len(expected)
    assert {row["audio"]: row["verdict"] for row in rows} == expected


def test_glob_of_manifests_in_a_bucket_is_one_catalog(make_world: MakeWorld, moto: S3Server, samples: Samples) -> None:
    """Its manifests are read in the order of their names."""
    world = make_world(moto.new_bucket())
    deliver(samples.folder, world.bucket, "audio")
    for at, part in enumerate((samples.files[:10], samples.files[10:])):
        world.bucket.put(f"lists/part-{at}.csv", write_manifest(part, samples.folder, "../audio", 10 * at))
    world.bucket.put("lists/notes.txt", b"no manifest")

    assert world.run("verify", f"{world.bucket.url}/lists/part-*.csv") == 3

    check_verdicts(world, samples, f"{world.bucket.url}/audio")
    first = [f"{world.bucket.url}/audio/{one.audio.relative_to(samples.folder).as_posix()}" for one in samples.files]
    assert [row["audio"] for row in world.rows()] == first


def test_catalog_and_results_are_in_azure(
    make_world: MakeWorld, azurite: AzureServer, samples: Samples, capfd: pytest.CaptureFixture[str]
) -> None:
    """The run is the same as elsewhere, and no secret of the cloud is in its output or in the results."""
    world = make_world(azurite.new_bucket())
    deliver(samples.folder, world.bucket, "audio")

    codes = [world.run("verify", f"{world.bucket.url}/{name}", "--json") for name in ("audio", "nothing-here")]

    assert codes == [3, 2]
    check_verdicts(world, samples, f"{world.bucket.url}/audio")
    assert [leg["calls"] for leg in world.legs()] == [world.charged]
    world.check_secrets(azurite.secrets, "".join(capfd.readouterr()))


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
    manifest = world.folder / "catalog.csv"
    manifest.write_bytes(write_manifest(samples.files * REPEATED, samples.folder, f"{delivery.url}/audio"))
    monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
    monkeypatch.setenv("PROOFSWEEP_RETRY__BREAKER_SECONDS", "2")
    monkeypatch.setenv("PROOFSWEEP_CATALOG__DEDUPE", "false")
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
    assert [row["manifest_row"] for row in rows] == list(range(REPEATED * len(samples.files)))
    assert [row["verdict"] for row in rows] == [one.verdict for one in samples.files] * REPEATED
    assert {row["leg"] for row in rows} == {1, 2}
    assert not [row["reason"] for row in rows if str(row["reason"]).startswith("source_")]
