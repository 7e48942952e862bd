"""One unexpected answer for many rows stops the run before it spends the quota, and no row is blamed."""

from itertools import cycle, islice

import pytest

import proofsweep_sandbox as sandbox

from ..worlds.sandbox_world import Samples, SandboxWorld


@pytest.fixture
def valid(samples: Samples) -> list[sandbox.Sample]:
    """The samples that the service accepts."""
    return samples.valid


def write_canaries(world: SandboxWorld, rows: list[tuple[sandbox.Sample, str]]) -> str:
    """Write a manifest of canaries; give its path."""
    path = world.folder / "canaries.csv"
    lines = [f"{sample.audio},{sample.sidecar or ''},{expect}\n" for sample, expect in rows]
    path.write_text("audio,sidecar,expect\n" + "".join(lines))
    return str(path)


def test_rows_that_all_fail_alike_remain(
    world: SandboxWorld,
    valid: list[sandbox.Sample],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """400 for every verify is a fault of a setting or the service: exit 8, no failed row, `resume` does all."""
    monkeypatch.setenv("PROOFSWEEP_RETRY__STORM_FAILURES", "20")
    monkeypatch.setenv("PROOFSWEEP_PACE__WORKERS", "8")
    pairs = [sample for sample in valid if sample.sidecar is not None]
    catalog = world.manifest(islice(cycle(pairs), 60))
    world.operator.add_fault("verify", "status", status=400, code="invalid_request")
    stopped = world.run("verify", catalog)
    spent = len([each for each in world.table("exchanges") if each["call"] == "verify"])
    said = capsys.readouterr()
    world.operator.clear_faults()

    code = world.run("resume")

    assert (stopped, code) == (8, 0)
    assert 2 * 20 <= spent <= 2 * (20 + 8 + 5)  # each twice: 20, at most 8 more in progress, and five tried last
    assert "fail alike" in said.out + said.err
    assert {row["outcome"] for row in world.rows()} == {"accepted"}
    assert len(world.rows()) == 60


def test_a_few_rows_that_fail_alike_are_failed(world: SandboxWorld, valid: list[sandbox.Sample]) -> None:
    """Below the limit of an anomaly each row keeps its own failure: exit 4."""
    catalog = world.manifest(valid[:3])
    world.operator.add_fault("verify", "status", status=400, code="invalid_request")

    code = world.run("verify", catalog)

    assert code == 4
    assert [row["reason"] for row in world.rows()] == ["http_400"] * 3


def test_an_emptied_registry_is_suspected(
    world: SandboxWorld,
    valid: list[sandbox.Sample],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """If files that the last run accepted are all refused alike, the run stops, until a person says it is right."""
    catalog = world.manifest(islice(cycle(valid), 60))
    first = world.run("verify", catalog)
    world.operator.add_fault("verify", "answer", answer={"good": False, "verdict": "unregistered"})
    second = world.run("verify", catalog)
    said = capsys.readouterr()
    refused = [row for row in world.rows() if row["verdict"] == "unregistered"]

    third = world.run("resume", "--believe")

    assert (first, second, third) == (0, 8, 3)
    assert "emptied registry" in said.out + said.err
    assert refused == []
    assert sum(row["verdict"] == "unregistered" for row in world.rows()) == 60


def test_canaries_are_verified_first_and_have_no_rows(
    world: SandboxWorld, samples: Samples, valid: list[sandbox.Sample], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If all canaries have the expected outcome, the run goes on; their exchanges have no manifest row."""
    tampered = next(sample for sample in samples.files if sample.verdict == "tampered")
    unreadable = next(sample for sample in samples.files if sample.verdict == "unreadable")
    path = write_canaries(world, [(valid[0], "accepted"), (tampered, "tampered"), (unreadable, "rejected")])
    monkeypatch.setenv("PROOFSWEEP_CANARY__MANIFEST", path)

    code = world.run("verify", world.manifest(valid[:4]))

    verified = [each["manifest_row"] for each in world.table("exchanges") if each["call"] == "verify"]
    assert code == 0
    assert sorted(verified, key=str) == sorted([None] * 3 + [0, 1, 2, 3], key=str)
    assert len(world.rows()) == 4


@pytest.mark.parametrize("expect", ["rejected", "audioChanged"])
def test_a_canary_with_another_outcome_stops_the_run(
    world: SandboxWorld,
    valid: list[sandbox.Sample],
    expect: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Exit 8, and nothing of the catalog is sent."""
    monkeypatch.setenv("PROOFSWEEP_CANARY__MANIFEST", write_canaries(world, [(valid[0], expect)]))

    code = world.run("verify", world.manifest(valid[:4]))

    said = capsys.readouterr()
    assert code == 8
    assert "canary" in said.out + said.err
    assert {each["manifest_row"] for each in world.table("exchanges")} == {None}


@pytest.mark.parametrize(
    "manifest",
    [
        ("audio\nx.wav\n", "column expect"),
        ("audio,expect\nx.wav,good\n", "column expect"),
        ("audio,expect\nnowhere.wav,accepted\n", "cannot be sent"),
    ],
)
def test_canaries_that_cannot_be_used_are_refused_before_anything_is_written(
    world: SandboxWorld,
    valid: list[sandbox.Sample],
    manifest: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Exit 2 and one line that names the manifest and its row."""
    path = world.folder / "canaries.csv"
    content, word = manifest
    path.write_text(content)
    monkeypatch.setenv("PROOFSWEEP_CANARY__MANIFEST", str(path))

    code = world.run("verify", world.manifest(valid[:2]))

    lines = capsys.readouterr().err.strip().splitlines()
    assert code == 2
    assert len(lines) == 1
    assert word in lines[0]
    assert not world.results.exists()
