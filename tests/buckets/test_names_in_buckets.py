"""A list names objects as people write names; keys that cannot be used, and prefixes that are left out, are told."""

import json
from collections.abc import Callable
from pathlib import Path
from unicodedata import normalize

import pytest

import proofsweep_sandbox as sandbox

from ..servers.buckets import Bucket, S3Server
from ..worlds.command_world import CommandWorld

WAV = b"RIFF\x24\x00\x00\x00WAVEfmt "
Planned = Callable[..., dict[str, object]]


@pytest.fixture
def planned(
    running: sandbox.Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Planned:
    """Plan a catalog at the sandbox, and give what is said of it."""
    (tmp_path / "key").write_text(running.operator.add_tenant(tmp_path.name).api_key)
    monkeypatch.setenv("PROOFSWEEP_SERVICE__BASE_URL", running.base_url)
    monkeypatch.setenv("PROOFSWEEP_SERVICE__API_KEY_FILE", str(tmp_path / "key"))

    def planned(catalog: str) -> dict[str, object]:
        capsys.readouterr()
        code = CommandWorld(tmp_path).run("plan", catalog, "--json")
        out, err = capsys.readouterr()
        assert (code, err) == (0, "")
        found: dict[str, object] = json.loads(out)
        return found

    return planned


@pytest.mark.parametrize("slash", ["/", "\\"])
@pytest.mark.parametrize("there", ["NFC", "NFD"])
def test_a_list_may_spell_keys_otherwise(planned: Planned, s3_bucket: Bucket, there: str, slash: str) -> None:
    """In another form of Unicode or another case, in each part of a key, and with the slashes of Windows.

    Of a key that is not there, the nearest name is told.
    """
    listed = normalize({"NFC": "NFD", "NFD": "NFC"}[there], "Björk/Jóga.wav").replace("/", slash)
    s3_bucket.put("lists/" + normalize(there, "Björk/Jóga.wav"), WAV)
    s3_bucket.put("lists/" + normalize(there, "Björk/Jóga.wav.sidecar"), b"proof")
    s3_bucket.put("lists/Alba/Song.wav", WAV)
    rows = f"{listed},{listed}.sidecar\nalba{slash}song.WAV,\nAlba/Songs.wav,\n"
    s3_bucket.put("lists/list.csv", f"audio,sidecar\n{rows}".encode())

    found = planned(f"{s3_bucket.url}/lists/list.csv")

    assert (found["eligible"], found["pairs"], found["audio_bytes"]) == (2, 1, 2 * len(WAV))
    assert found["reasons"] == {"missing_audio": 1}
    assert "There is no 'Songs.wav'; the nearest is 'Song.wav'." in str(found["examples"])


def test_a_key_that_cannot_be_requested_is_a_row(planned: Planned, s3_bucket: Bucket, moto: S3Server) -> None:
    """It is named, with what to do, and the others go on with their sidecars; a list names them as before."""
    keys = ("acme/1.wav", "acme//2.wav", "acme/3.wav", "Beta/4.wav", "zeta/5.wav", "zeta/x/6.wav")
    for key in keys:
        moto.client.put_object(Bucket=s3_bucket.url.removeprefix("s3://"), Key=f"drops/{key}", Body=WAV)
    s3_bucket.put("drops/acme/3.wav.sidecar", b"proof")
    s3_bucket.put("drops/list.csv", "\n".join(["audio", *keys]).encode())

    found, listed = planned(f"{s3_bucket.url}/drops"), planned(f"{s3_bucket.url}/drops/list.csv")

    assert (found["eligible"], found["reasons"]) == (5, {"unreadable_file": 1})
    assert "The key drops/acme// has an empty part" in str(found["examples"])
    assert (listed["eligible"], listed["reasons"]) == (5, {"unreadable_file": 1})
    assert (found["pairs"], listed["pairs"]) == (1, 1)


def test_a_key_that_begins_with_slashes_is_a_row(planned: Planned, s3_bucket: Bucket, moto: S3Server) -> None:
    """At the top of the bucket, where there is no folder above it."""
    for key in ("//x.wav", "a/1.wav", "z/2.wav"):
        moto.client.put_object(Bucket=s3_bucket.url.removeprefix("s3://"), Key=key, Body=WAV)

    found = planned(s3_bucket.url)

    assert (found["eligible"], found["reasons"]) == (2, {"unreadable_file": 1})


@pytest.mark.usefixtures("planned")
def test_a_pass_goes_on_around_a_key_that_cannot_be_requested(
    s3_bucket: Bucket,
    moto: S3Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The files of all suppliers wait for their sidecars as ever, and the key is a row."""
    for key in ("drops//1.wav", "drops/acme/2.wav", "drops/Beta/3.wav", "drops/zeta/4.wav"):
        moto.client.put_object(Bucket=s3_bucket.url.removeprefix("s3://"), Key=key, Body=WAV)
    monkeypatch.setenv("PROOFSWEEP_INGEST__SETTLE_SECONDS", "0")

    code = CommandWorld(tmp_path).run("ingest", f"{s3_bucket.url}/drops", "--json")

    document = json.loads(capsys.readouterr().out)
    assert code == 3
    assert document["files"]["incomplete"] == 3
    assert [row["reason"] for row in document["rows"]] == ["unreadable_file"]


def test_sidecars_beside_the_audio_of_a_list_are_pairs(planned: Planned, s3_bucket: Bucket) -> None:
    """Only those right beside it; two files that may claim one get none."""
    pairs = ("a.wav", "a.wav.sidecar", "b.mp3", "b.sidecar")
    for name in (*pairs, "c.wav", "below/c.wav.sidecar", "d.wav", "d.wave", "d.sidecar"):
        s3_bucket.put(f"drop/{name}", b"RIFF and more")
    s3_bucket.put("drop/list.csv", b"audio\na.wav\nb.mp3\nc.wav\nd.wav")

    counts = planned(f"{s3_bucket.url}/drop/list.csv")

    assert (counts["items"], counts["pairs"], counts["ignored"]) == (4, 2, {"sidecars_beside": 2})
