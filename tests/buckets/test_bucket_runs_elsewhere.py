"""Catalogs and results at other places than one server: local manifests, globs, Azure, a bucket that goes away."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import sandbox

from ..servers.buckets import AzureServer, Bucket, S3Server
from ..servers.gate import Gate
from .worlds import World, deliver, write_manifest

FILES = 26
"""Every kind of sample once."""

Samples = tuple[Path, list[sandbox.Sample]]
MakeWorld = Callable[[Bucket], World]


@pytest.fixture(scope="module")
def samples(running: sandbox.Running, tmp_path_factory: pytest.TempPathFactory) -> Samples:
    """Every kind of sample, and what each must come to; Azure takes a backslash for a slash, so no name has one."""
    folder = tmp_path_factory.mktemp("catalog")
    written = sandbox.write_catalog(folder, running.operator, files=FILES)
    for path in folder.rglob("*\\*"):
        path.unlink()
    return folder, [sample for sample in written if sample.audio.exists()]


def check(world: World, samples: Samples, place: str) -> None:
    """See that each audio below `place` got its verdict, each once."""
    expected = {f"{place}/{one.audio.relative_to(samples[0]).as_posix()}": one.verdict for one in samples[1]}
    rows = world.rows()
    assert len(rows) == len(expected)
    assert {row["audio"]: row["verdict"] for row in rows} == expected


def test_local_manifest_names_audio_in_a_bucket(make_world: MakeWorld, moto: S3Server, samples: Samples) -> None:
    """Only the list is here; audio and sidecars are where their URLs say."""
    world = make_world(moto.new_bucket())
    deliver(samples[0], world.bucket, "audio")
    manifest = world.folder / "catalog.csv"
    manifest.write_bytes(write_manifest(samples[1], samples[0], f"{world.bucket.url}/audio"))

    assert world.run("verify", str(manifest)) == 3

    check(world, samples, f"{world.bucket.url}/audio")


def test_glob_of_manifests_in_a_bucket_is_one_catalog(make_world: MakeWorld, moto: S3Server, samples: Samples) -> None:
    """They are read in the order of their names."""
    world = make_world(moto.new_bucket())
    deliver(samples[0], world.bucket, "audio")
    for at, part in enumerate((samples[1][:10], samples[1][10:])):
        world.bucket.put(f"lists/part-{at}.csv", write_manifest(part, samples[0], "../audio"))
    world.bucket.put("lists/notes.txt", b"no manifest")

    assert world.run("verify", f"{world.bucket.url}/lists/part-*.csv") == 3

    check(world, samples, f"{world.bucket.url}/audio")
    first = [f"{world.bucket.url}/audio/{one.audio.relative_to(samples[0]).as_posix()}" for one in samples[1]]
    assert [row["audio"] for row in world.rows()] == first


def test_catalog_and_results_lie_in_azure(make_world: MakeWorld, azurite: AzureServer, samples: Samples) -> None:
    """The same run as anywhere."""
    world = make_world(azurite.new_bucket())
    deliver(samples[0], world.bucket, "audio")

    assert world.run("verify", f"{world.bucket.url}/audio") == 3

    check(world, samples, f"{world.bucket.url}/audio")
    assert [leg["calls"] for leg in world.legs()] == [world.charged]


@pytest.fixture
def gate(moto: S3Server) -> Iterator[Gate]:
    """A door in front of moto."""
    gate = Gate(moto.url)
    yield gate
    gate.close()


def test_run_whose_bucket_goes_away_blames_no_file_and_is_resumed(
    make_world: MakeWorld, moto: S3Server, gate: Gate, monkeypatch: pytest.MonkeyPatch, samples: Samples
) -> None:
    """It waits, ends in good order with what it has, and the next leg does the rest."""
    delivery, world = moto.new_bucket(), make_world(moto.new_bucket())
    deliver(samples[0], delivery, "audio")
    delivery.put("all.csv", write_manifest(samples[1] * 40, samples[0], "audio"))
    monkeypatch.setenv("AWS_ENDPOINT_URL", gate.url)
    monkeypatch.setenv("PROOFSWEEP_RETRY__BREAKER_SECONDS", "2")
    process = world.start("verify", f"{delivery.url}/all.csv", "--no-dedupe")
    world.wait_for(lambda: world.journalled(1) or process.poll() is not None)
    gate.shut()
    stopped = process.wait(timeout=100)
    gate.open()

    code = world.run("resume")

    rows = world.rows()
    assert (stopped, code) == (8, 3), world.logs
    assert "Traceback" not in world.logs
    assert [row["manifest_row"] for row in rows] == list(range(40 * len(samples[1])))
    assert [row["verdict"] for row in rows] == [one.verdict for one in samples[1]] * 40
    assert {row["leg"] for row in rows} == {1, 2}
    assert not [row["reason"] for row in rows if str(row["reason"]).startswith("source_")]


def test_secrets_of_a_cloud_are_in_nothing_that_stays(
    make_world: MakeWorld, azurite: AzureServer, swift: S3Server, samples: Samples, capfd: pytest.CaptureFixture[str]
) -> None:
    """Neither in what is said, nor in an object of the results store."""
    for server in (swift, azurite):
        world = make_world(server.new_bucket())
        deliver(samples[0], world.bucket, "audio")
        world.run("verify", f"{world.bucket.url}/audio", "--json")
        world.run("verify", f"{world.bucket.url}/nothing-here")
        kept = b"".join(world.bucket.content(key) for key in world.bucket.keys("results"))
        tables = repr([world.table("verdicts"), world.table("exchanges"), world.table("runs")])
        said = "".join(capfd.readouterr())

        assert world.rows()
        for secret in server.secrets:
            assert secret not in said + tables
            assert secret.encode() not in kept
