"""Sidecars are recovered into a bucket: beside the audio and below a prefix, and never over an object."""

from collections.abc import Callable
from pathlib import Path

import obstore
import pytest

import proofsweep_sandbox as sandbox

from ..servers.buckets import AzureServer, Bucket, S3Server
from ..worlds.bucket_world import BucketWorld, deliver
from ..worlds.core import before_a_sidecar_is_written

NAME = "a b#%41ü+.wav"
"""A key with everything that a URL would escape."""


def test_an_object_that_appears_in_that_moment_stays(
    make_world: Callable[[Bucket], BucketWorld], moto: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bucket itself creates an object only where none is; another process may be that fast."""
    bucket = moto.new_bucket()
    world = make_world(bucket)
    sealed = delivered_pair(world)
    sidecar, key = f"{bucket.url}/in/{NAME}.sidecar", f"in/{NAME}.sidecar"
    obstore.delete(bucket.store, key)

    with monkeypatch.context() as moment:
        before_a_sidecar_is_written(moment, lambda: bucket.put(key, b"another file"))
        codes = [world.run("proofs", "recover")]
    left = bucket.content(key)
    obstore.delete(bucket.store, key)
    codes += [world.run("proofs", "recover", "--to", f"{bucket.url}/to here"), world.run("proofs", "recover")]

    assert (codes, left) == ([0, 0, 0], b"another file")
    assert bucket.content(key) == bucket.content(f"to here/{NAME}.sidecar") == sealed
    assert [(row["outcome"], row["recovered_to"]) for row in world.table("recoveries")] == [
        ("present", None),
        ("recovered", f"{bucket.url}/to here/{NAME}.sidecar"),
        ("recovered", sidecar),
    ]


def test_two_processes_at_once_leave_the_sealed_bytes(
    make_world: Callable[[Bucket], BucketWorld], azurite: AzureServer
) -> None:
    """The other one finds them there; in the same moment both say that they wrote them."""
    bucket = azurite.new_bucket()
    world = make_world(bucket)
    sealed, key = delivered_pair(world), f"in/{NAME}.sidecar"
    obstore.delete(bucket.store, key)

    both = [world.start("proofs", "recover") for _ in range(2)]
    codes = [process.wait(60) for process in both]

    rows = world.table("recoveries")
    assert (codes, bucket.content(key)) == ([0, 0], sealed)
    assert {row["recovered_to"] for row in rows if row["outcome"] == "recovered"} == {f"{bucket.url}/{key}"}
    assert {row["outcome"] for row in rows} == {"recovered"}
    assert world.run("audit") == 0


def delivered_pair(world: BucketWorld) -> bytes:
    """Put a pair into the bucket and verify it; give the bytes of its sidecar."""
    files = sandbox.write_catalog(world.folder / "samples", world.operator, files=20)
    audio = next(each.audio for each in files if each.verdict == "valid" and each.audio.suffix == ".wav")
    folder = world.folder / "in"
    folder.mkdir()
    pair = Path(folder, NAME)
    pair.write_bytes(audio.read_bytes())
    sidecar = world.operator.issue(pair, folder, tenant=world.tenant, legacy=True).sidecar
    assert sidecar is not None
    deliver(folder, world.bucket, "in")
    assert world.run("verify", f"{world.bucket.url}/in") == 0
    return sidecar.read_bytes()
