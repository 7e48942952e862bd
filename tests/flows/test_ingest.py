"""What is delivered into a watched folder is verified once, and moved by its verdict."""

import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import proofsweep_sandbox as sandbox

from ..worlds.sandbox_world import Samples, SandboxWorld


@pytest.fixture
def delivered(world: SandboxWorld, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty watched folder; files settle soon, and wait for no sidecar."""
    monkeypatch.setenv("PROOFSWEEP_INGEST__SETTLE_SECONDS", "0.2")
    monkeypatch.setenv("PROOFSWEEP_INGEST__PAIR_SECONDS", "0")
    folder = world.folder / "delivered"
    folder.mkdir()
    return folder


@pytest.fixture
def moved(world: SandboxWorld, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Folders for accepted and for rejected files, which the settings name."""
    places = world.folder / "accepted", world.folder / "quarantine"
    for name, place in zip(("ACCEPTED", "QUARANTINE"), places, strict=True):
        monkeypatch.setenv(f"PROOFSWEEP_INGEST__{name}", str(place))
    return places


def deliver(samples: list[sandbox.Sample], folder: Path) -> None:
    """Copy files into a folder, with their sidecars."""
    folder.mkdir(exist_ok=True, parents=True)
    for sample in samples:
        for path in (sample.audio, sample.sidecar):
            if path is not None:
                shutil.copy(path, folder / path.name)


def of_verdict(samples: Samples, verdict: str | None, count: int) -> list[sandbox.Sample]:
    return [sample for sample in samples.files if sample.verdict == verdict][:count]


def names_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_files_are_moved_by_their_verdicts(
    world: SandboxWorld, samples: Samples, delivered: Path, moved: tuple[Path, Path]
) -> None:
    """Accepted files and rejected ones go to their folders with their sidecars; what cannot be sent stays."""
    good, bad = of_verdict(samples, "valid", 6), of_verdict(samples, "tampered", 3)
    deliver(good + bad, delivered / "acme")
    (delivered / "acme" / "notes.flac").write_bytes(b"fLaC" + bytes(100))

    code = world.run("ingest", str(delivered))

    accepted, quarantine = moved
    assert code == 3
    assert names_in(delivered) == {"acme/notes.flac"}
    assert names_in(accepted) == {f"acme/{p.name}" for s in good for p in (s.audio, s.sidecar) if p}
    assert names_in(quarantine) == {f"acme/{p.name}" for s in bad for p in (s.audio, s.sidecar) if p}
    assert len(world.table("ingest")) == 10


def test_the_flow_of_a_schedule_does_the_same(
    world: SandboxWorld, samples: Samples, delivered: Path, moved: tuple[Path, Path]
) -> None:
    """A pass with rejected files is Completed, since each file has its outcome; so is one that finds nothing."""
    deliver(of_verdict(samples, "valid", 2) + of_verdict(samples, "tampered", 1), delivered)

    first = world.flow("check_ingest", str(delivered))
    second = world.flow("check_ingest", str(delivered))

    assert (first.is_completed(), second.is_completed()) == (True, True)
    assert "2 accepted, 1 rejected, 2 moved (accepted), 1 moved (quarantined)" in str(first.message)
    assert "nothing new" in str(second.message)
    assert names_in(delivered) == set()
    assert moved[0].is_dir()


@pytest.mark.parametrize(("refused", "state"), [(1, "SomeFailed"), (3, "AllFailed")])
def test_a_pass_with_failed_files_is_named_so(
    world: SandboxWorld, samples: Samples, delivered: Path, refused: int, state: str
) -> None:
    """They are tried again later, but nobody may take the pass for a good one."""
    deliver(of_verdict(samples, "valid", 3), delivered)
    world.operator.add_fault("verify", "status", status=422, count=refused)

    ended = world.flow("check_ingest", str(delivered))

    assert (ended.name, ended.is_failed()) == (state, state == "AllFailed")
    assert f"{refused} failed" in str(ended.message)


@pytest.fixture
def as_in_a_script() -> Iterator[None]:
    """A process that starts meanwhile ignores SIGINT, as a script's background job does."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.timeout(400)
@pytest.mark.usefixtures("as_in_a_script")
def test_watching_goes_on_until_it_is_stopped(world: SandboxWorld, samples: Samples, delivered: Path) -> None:
    """What is delivered later is verified too; a second process may not watch the same folder."""
    process = world.start("ingest", str(delivered), "--watch", "--every", "1")
    try:
        world.wait_for(lambda: "nothing new" in world.logs or process.poll() is not None)
        deliver(of_verdict(samples, "valid", 1), delivered)
        world.wait_for(lambda: world.table("ingest") or process.poll() is not None)
        assert world.run("ingest", str(delivered)) == 9
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0, world.logs
    finally:
        process.kill()
    assert [row["outcome"] for row in world.table("ingest")] == ["accepted"]
