"""A watched prefix of a bucket: objects are verified once and moved by their verdicts, as files of a folder are."""

from collections.abc import Callable
from pathlib import Path

import pytest

import proofsweep_sandbox as sandbox

from ..servers.buckets import Bucket, S3Server
from ..worlds.bucket_world import BucketWorld, deliver
from ..worlds.ddex_messages import Sending, Track, batch_manifest, put_release, sent
from ..worlds.sandbox_world import Samples

FILES = 26


@pytest.fixture
def world(make_world: Callable[[Bucket], BucketWorld], moto: S3Server, monkeypatch: pytest.MonkeyPatch) -> BucketWorld:
    """A world with results, deliveries and their targets in one bucket."""
    world = make_world(moto.new_bucket())
    settings = {
        "SETTLE_SECONDS": "0.2",
        "PAIR_SECONDS": "0",
        "ACCEPTED": f"{world.bucket.url}/accepted",
        "QUARANTINE": f"{world.bucket.url}/quarantine/",
    }
    for name, text in settings.items():
        monkeypatch.setenv(f"PROOFSWEEP_INGEST__{name}", text)
    return world


@pytest.fixture(scope="module")
def samples(running: sandbox.Running, tmp_path_factory: pytest.TempPathFactory) -> Samples:
    """Release folders with every kind of sample, and their verdicts."""
    folder = tmp_path_factory.mktemp("catalog")
    return Samples(folder, sandbox.write_catalog(folder, running.operator, files=FILES))


def keys_of(samples: Samples, *, is_valid: bool) -> set[str]:
    """Return the relative keys of accepted samples, or of rejected ones, with their sidecars."""
    chosen = (each for each in samples.files if each.verdict and (each.verdict == "valid") == is_valid)
    paths = (path for each in chosen for path in (each.audio, each.sidecar) if path is not None)
    return {path.relative_to(samples.folder).as_posix() for path in paths}


@pytest.mark.timeout(400)
def test_objects_are_moved_by_their_verdicts(world: BucketWorld, samples: Samples) -> None:
    """A move that was interrupted is finished; a name that is taken stays; a second pass sends nothing."""
    deliver(samples.folder, world.bucket, "delivered")
    good = sorted(keys_of(samples, is_valid=True))
    interrupted, taken = (key for key in good if key.endswith((".wav", ".mp3", ".aiff"))), good[0]
    copied = next(key for key in interrupted if key != taken)
    world.bucket.put(f"accepted/{copied}", (samples.folder / copied).read_bytes())
    world.bucket.put(f"accepted/{taken}", b"somebody else's")

    code = world.run("ingest", f"{world.bucket.url}/delivered")
    charged = world.charged
    again = world.run("ingest", f"{world.bucket.url}/delivered")

    accepted = {key.removeprefix("accepted/") for key in world.bucket.keys("accepted")}
    assert (code, again, world.charged) == (3, 0, charged)
    assert world.bucket.content(f"accepted/{taken}") == b"somebody else's"
    assert {key.rpartition("/")[2] for key in accepted} == {key.rpartition("/")[2] for key in good}
    assert {key.removeprefix("quarantine/") for key in world.bucket.keys("quarantine")} == keys_of(
        samples, is_valid=False
    )
    moved = keys_of(samples, is_valid=True) | keys_of(samples, is_valid=False)
    assert not moved & {key.removeprefix("delivered/") for key in world.bucket.keys("delivered")}


@pytest.mark.timeout(400)
def test_a_batch_in_a_bucket_is_moved_as_a_whole(world: BucketWorld, samples: Samples, tmp_path: Path) -> None:
    """With its messages, and its completion file; nothing stays in its place. An empty prefix is no error before."""
    assert world.run("ingest", f"{world.bucket.url}/delivered") == 0
    good = next(each.audio for each in samples.files if each.verdict == "valid" and each.sidecar is None)
    named = sent("resources/a.wav", good.read_bytes())
    sending = Sending(version="43", tracks=[Track(isrc="QZABC2600001", files=[named])])
    batch = tmp_path / "sent" / "20261124000000001"
    put_release(batch / "r1", sending, {"resources/a.wav": good.read_bytes()})
    deliver(batch.parent, world.bucket, "delivered")
    waited = world.run("ingest", f"{world.bucket.url}/delivered")
    charged = world.charged
    world.bucket.put(f"delivered/{batch.name}/manifest.xml", batch_manifest(batch.name, ["r1/r1.xml"]))

    taken = world.run("ingest", f"{world.bucket.url}/delivered")

    assert (waited, charged, taken) == (0, 0, 0)
    assert sorted(world.bucket.keys("accepted")) == [
        f"accepted/{batch.name}/{name}" for name in ("manifest.xml", "r1/r1.xml", "r1/resources/a.wav")
    ]
    assert not list(world.bucket.keys("delivered"))
