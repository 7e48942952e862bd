"""A list in a bucket that names the audio alone: the sidecars beside it are sent with it, as on a disk."""

import json

import pytest

from proofsweep_cli.app import run

from ..servers.buckets import Bucket


def test_sidecars_beside_the_audio_are_pairs(bucket: Bucket, capsys: pytest.CaptureFixture[str]) -> None:
    """Only those right beside it; two files that may claim one get none."""
    names = (
        "a.wav",
        "a.wav.sidecar",
        "b.mp3",
        "b.sidecar",
        "c.wav",
        "below/c.wav.sidecar",
        "d.wav",
        "d.wave",
        "d.sidecar",
    )
    for name in names:
        bucket.put(f"drop/{name}", b"RIFF and more")
    bucket.put("drop/list.csv", b"audio\n" + b"\n".join(name.encode() for name in ("a.wav", "b.mp3", "c.wav", "d.wav")))

    run(["plan", f"{bucket.url}/drop/list.csv", "--json"])

    counts = json.loads(capsys.readouterr().out)
    assert (counts["items"], counts["pairs"], counts["ignored"]) == (4, 2, {"sidecars_beside": 2})
