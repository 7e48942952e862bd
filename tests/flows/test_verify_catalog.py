"""A catalog goes in; one row for each of its files, with the right verdict, comes out."""

import json
from collections import Counter
from pathlib import Path

import pytest

import proofsweep_sandbox as sandbox

from ..worlds.sandbox_world import Samples, SandboxWorld


def expected_of(samples: list[sandbox.Sample]) -> dict[str, str | None]:
    """Return which verdict each audio must get."""
    return {str(sample.audio): sample.verdict for sample in samples}


@pytest.mark.parametrize("kind", ["folder", "manifest"])
def test_every_file_of_a_catalog_gets_its_verdict(world: SandboxWorld, samples: Samples, kind: str) -> None:
    """Each of the files with every verdict has its row, both from a folder scan and from a manifest."""
    folder, expected = samples
    catalog = str(folder) if kind == "folder" else world.manifest(expected)

    code = world.run("verify", catalog)

    rows = world.rows()
    assert code == 3
    assert {row["audio"]: row["verdict"] for row in rows} == expected_of(expected)
    assert all(row["accepted"] == (row["verdict"] == "valid") for row in rows)
    assert all((row["outcome"] == "ineligible") == (row["verdict"] is None) for row in rows)
    assert [row["manifest_row"] for row in rows] == list(range(len(expected)))


def test_every_request_id_of_the_partner_is_in_the_audit_trail(world: SandboxWorld, samples: Samples) -> None:
    """`exchanges` holds each request ID that the service gave to this key, once."""
    since = world.operator.exchanges()[-1]["seq"]

    world.run("verify", str(samples.folder))

    given = [one for one in world.operator.exchanges(since) if one["tenant"] == world.tenant and one["status"]]
    kept = Counter(str(row["request_id"]) for row in world.table("exchanges"))
    assert {one["request_id"] for one in given} <= set(kept)
    assert max(kept.values()) == 1
    assert len([row for row in world.table("exchanges") if row["call"] in {"uploads", "verify", "usage"}]) == len(
        [one for one in given if one["call"] in {"uploads", "verify", "usage"}]
    )


def test_calls_are_counted_as_the_partner_counts_them(world: SandboxWorld, samples: Samples) -> None:
    """The `runs` table has the number of calls that the service charged to the key."""
    world.run("verify", str(samples.folder))

    (leg,) = world.legs()
    assert leg["calls"] == world.charged
    assert leg["ended_by"] == "complete"
    assert (leg["items"], leg["remaining"]) == (len(samples.files), 0)


def test_tags_of_a_manifest_are_in_their_rows(world: SandboxWorld, samples: Samples) -> None:
    """Columns that the pipeline does not know are in `tags`, as JSON."""
    world.run("verify", world.manifest(samples.files[:20]))

    assert [json.loads(str(row["tags"]))["ISRC"] for row in world.rows()] == [f"XX{at}" for at in range(20)]


def test_item_ids_are_the_same_in_every_run(world: SandboxWorld, samples: Samples) -> None:
    """Item IDs depend on the catalog, not on the run."""
    folder, _ = samples
    world.run("verify", str(folder))
    first = {row["audio"]: row["item_id"] for row in world.rows()}

    world.run("verify", str(folder))

    again = [row for row in world.rows() if first[row["audio"]] == row["item_id"]]
    assert len(again) == 2 * len(samples.files)


def test_json_adds_up(world: SandboxWorld, samples: Samples, capsys: pytest.CaptureFixture[str]) -> None:
    """The counts of the summary object add up to the rows of the catalog."""
    world.run("verify", str(samples.folder), "--json")

    summary = json.loads(capsys.readouterr().out)

    counted = sum(summary[word] for word in ("accepted", "rejected", "failed", "ineligible", "remaining"))
    assert counted == summary["items"] == len(samples.files)
    assert summary["ended_by"] == "complete"


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
