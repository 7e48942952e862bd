"""A catalog goes in; one row for each of its files, with the right verdict, comes out."""

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from ..worlds.sandbox_world import Samples, SandboxWorld

KEYED = {"uploads", "verify", "usage"}
CORPUS = os.environ.get("PROOFSWEEP_CORPUS", "")


def test_every_file_of_a_folder_gets_its_verdict(
    world: SandboxWorld, samples: Samples, capsys: pytest.CaptureFixture[str]
) -> None:
    """The summary adds up; each call is counted as the partner counts it, and each request ID is kept once."""
    since = max((one["seq"] for one in world.operator.exchanges()), default=0)

    code = world.run("verify", str(samples.folder), "--json")

    rows, (leg,), exchanges = world.rows(), world.legs(), world.table("exchanges")
    assert {row["audio"]: row["verdict"] for row in rows} == {str(one.audio): one.verdict for one in samples.files}
    assert all(row["accepted"] == (row["verdict"] == "valid") for row in rows)
    assert all((row["outcome"] == "ineligible") == (row["verdict"] is None) for row in rows)
    assert [row["manifest_row"] for row in rows] == list(range(len(samples.files)))
    summary = json.loads(capsys.readouterr().out)
    counted = sum(summary[word] for word in ("accepted", "rejected", "failed", "ineligible", "remaining"))
    assert (code, summary["ended_by"], leg["ended_by"]) == (3, "complete", "complete")
    assert counted == summary["items"] == leg["items"] == len(samples.files)
    assert (leg["calls"], leg["remaining"]) == (world.charged, 0)
    given = [one for one in world.operator.exchanges(since) if one["tenant"] == world.tenant and one["status"]]
    kept = Counter(str(row["request_id"]) for row in exchanges)
    assert {one["request_id"] for one in given} <= set(kept)
    assert max(kept.values()) == 1
    ours, theirs = (sum(one["call"] in KEYED for one in each) for each in (exchanges, given))
    assert ours == theirs
    first = {row["audio"]: row["item_id"] for row in rows}
    world.run("verify", str(samples.folder))
    assert [first[row["audio"]] for row in world.rows()] == [row["item_id"] for row in world.rows()]
    assert [row["calls"] for row in world.rows() if row["run_id"] != leg["run_id"]] == [row["calls"] for row in rows]


@pytest.mark.usefixtures("without_prefect")
def test_a_sidecar_is_sent_with_its_own_audio_alone(world: SandboxWorld, samples: Samples) -> None:
    """A credentialed WAV and an MP3 share its name, and both are genuine; what stays ambiguous costs no call."""
    pair = next(sample for sample in samples.valid if sample.sidecar and sample.audio.suffix == ".mp3")
    wav = next(sample for sample in samples.valid if not sample.sidecar)
    assert pair.sidecar
    folder = world.folder / "delivery"
    folder.mkdir()
    contents = {"song.wav": wav.audio, "song.mp3": pair.audio, "song.sidecar": pair.sidecar}
    contents |= {"take.mp3": pair.audio, "take.m4a": pair.audio, "take.sidecar": pair.sidecar}
    for name, source in contents.items():
        (folder / name).write_bytes(source.read_bytes())

    code = world.run("verify", str(folder))

    ends = {Path(str(row["audio"])).name: (row["mode"], row["reason"], row["calls"]) for row in world.rows()}
    assert code == 3
    assert ends == {
        "song.mp3": ("legacy_pair", None, 2),
        "song.wav": ("one_file", None, 2),
        "take.m4a": (None, "ambiguous_sidecar", 0),
        "take.mp3": (None, "ambiguous_sidecar", 0),
    }


@pytest.mark.usefixtures("without_prefect")
def test_pairs_wait_for_the_sidecars_wire_name_and_the_others_run(
    world: SandboxWorld, samples: Samples, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`plan`, the run and its summary say so; when the name is set, a new run sends them all."""
    pairs = [sample for sample in samples.valid if sample.sidecar][:3]
    others = [sample for sample in samples.valid if not sample.sidecar][:5]
    catalog = world.manifest([*pairs, *others])
    config = world.folder / "unnamed.toml"
    config.write_text('[service]\nenvironment = "sandbox"\n')

    planned, first = (world.run(command, catalog, "--config", str(config)) for command in ("plan", "verify"))
    said = capsys.readouterr().out
    rows = world.rows()
    monkeypatch.setenv("PROOFSWEEP_SERVICE__SIDECAR_FIELD", "sidecar")
    second = world.run("verify", catalog, "--config", str(config))

    assert (planned, first, second) == (0, 3, 0)
    assert [row["reason"] for row in rows] == ["sidecar_field_unknown"] * 3 + [None] * 5
    assert [row["calls"] for row in rows] == [0] * 3 + [2] * 5
    assert said.count("3 of the rows are legacy pairs and NOT SENT") == 3
    assert [row["outcome"] for row in world.rows()[8:]] == ["accepted"] * 8


@pytest.mark.usefixtures("without_prefect")
@pytest.mark.skipif(not CORPUS, reason="needs real audio files: set PROOFSWEEP_CORPUS to a folder of them")
def test_no_foreign_file_is_accepted_and_none_is_lost(world: SandboxWorld) -> None:
    """A scan of real and deliberately broken files ends with a row for each, and none of them accepted."""
    code = world.run("verify", CORPUS)

    rows = world.rows()
    assert code == 3
    assert len(rows) > 100
    assert not any(row["accepted"] for row in rows)
    assert all(row["verdict"] or row["reason"] for row in rows)
    assert {row["outcome"] for row in rows} == {"rejected", "ineligible"}
