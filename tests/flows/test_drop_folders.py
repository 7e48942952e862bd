"""What a pass over a drop folder says: of files that wait, came alone, cannot be moved, or were there before."""

import json
import os
import shutil
import signal
import wave
from pathlib import Path

import pytest

from ..worlds.sandbox_world import Samples, SandboxWorld


@pytest.fixture
def drop(world: SandboxWorld, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty watched folder, from which files are moved; they settle at once and wait for no sidecar."""
    settings = {"SETTLE_SECONDS": "0", "PAIR_SECONDS": "0"}
    settings |= {"ACCEPTED": f"{world.folder}/accepted", "QUARANTINE": f"{world.folder}/quarantine"}
    for name, text in settings.items():
        monkeypatch.setenv(f"PROOFSWEEP_INGEST__{name}", text)
    folder = world.folder / "drop"
    (folder / "acme").mkdir(parents=True)
    monkeypatch.chdir(world.folder)  # where letters are written
    monkeypatch.delenv("PROOFSWEEP_CATALOG__ROOT")
    return folder


def alone(samples: Samples, verdict: str) -> Path:
    """Return a WAV without a sidecar that has this verdict."""
    return next(each.audio for each in samples.files if each.verdict == verdict and each.sidecar is None)


def deliver(drop: Path, audio: list[Path], name: str = "song") -> None:
    """Copy files without sidecars into the folder of a supplier."""
    for number, path in enumerate(audio):
        shutil.copy(path, drop / "acme" / f"{name}{number}.wav")


@pytest.fixture
def plain(world: SandboxWorld) -> Path:
    with wave.open(str(world.folder / "plain.wav"), "wb") as file:
        file.setparams((1, 2, 8_000, 0, "NONE", ""))
        file.writeframes(bytes(4_000))
    return world.folder / "plain.wav"


def die_at_a_move() -> None:
    """Let this process be killed before it makes the first file in quarantine; files are created as hard links."""
    link = Path.hardlink_to

    def link_or_die(self: Path, target: Path) -> None:
        if self.is_relative_to(os.environ["PROOFSWEEP_INGEST__QUARANTINE"]):
            os.kill(os.getpid(), signal.SIGKILL)
        link(self, target)

    Path.hardlink_to = link_or_die  # type: ignore[method-assign, assignment]


def test_a_pass_that_finishes_a_killed_pass_ends_with_what_it_found(
    world: SandboxWorld, samples: Samples, drop: Path
) -> None:
    """All verdicts were there, and no file was moved."""
    deliver(drop, [alone(samples, "tampered")] * 2)
    killed = world.start("ingest", str(drop), before=die_at_a_move).wait()
    charged = world.charged

    codes = [world.run("ingest", str(drop)), world.run("ingest", str(drop))]

    assert killed == -signal.SIGKILL
    assert (codes, world.charged) == ([3, 0], charged)
    assert [row["disposition"] for row in world.table("ingest")] == ["quarantined"] * 2


def test_a_wav_and_a_sidecar_that_missed_each_other_are_both_told(
    world: SandboxWorld, plain: Path, drop: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The WAV waited in vain and is in quarantine; then the sidecar comes."""
    deliver(drop, [plain])
    codes = [world.run("ingest", str(drop))]
    first = capfd.readouterr().out
    world.run("rejects")
    world.run("export", "--by", "supplier", "--format", "letter")
    listed = capfd.readouterr().out
    (drop / "acme" / "song0.wav.sidecar").write_bytes(b"its sidecar")
    (drop / "acme" / "other.wav.sidecar").write_bytes(b"another one")
    codes += [world.run("ingest", str(drop))]
    second = capfd.readouterr().out
    shutil.move(world.folder / "quarantine" / "acme" / "song0.wav", drop / "acme")
    world.run("ingest", str(drop))

    (letter,) = [path.read_text() for path in world.folder.rglob("letter-acme.txt")]
    assert codes == [3, 0]
    assert "rejected, unreadable: reject, and ask the supplier for the file as it was issued, with its sidecar" in first
    assert "with its sidecar if it has one" in " ".join(listed.split())
    assert "and its sidecar if it has one." in " ".join(letter.split())
    assert "drop: nothing new; ignored: 2 orphan sidecars" in second
    assert f"{drop}/acme/song0.wav.sidecar: no audio beside it has its name" in second
    assert f"{drop}/acme/other.wav.sidecar: no audio beside it has its name" in second
    assert [row["sidecar"] is None for row in world.table("ingest")] == [True, False]


def test_files_that_wait_are_named(
    world: SandboxWorld, plain: Path, drop: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Also what is left out is counted: hidden files, and files that are no audio."""
    monkeypatch.setenv("PROOFSWEEP_INGEST__PAIR_SECONDS", "900")
    deliver(drop, [plain])
    shutil.copy(drop / "acme" / "song0.wav", drop / "acme" / ".hidden.wav")
    (drop / "acme" / "next.wav.part").write_bytes((drop / "acme" / "song0.wav").read_bytes())
    (drop / "acme" / "cover.jpg").write_bytes(b"no audio")

    code = world.run("ingest", str(drop))

    said = capfd.readouterr().out
    assert (code, world.charged) == (0, 0)
    assert "nothing new, 1 waiting for a sidecar or for their end" in said
    assert f"{drop}/acme/song0.wav: waiting for a sidecar or for its end" in said
    assert "ignored: 1 not audio, 1 hidden, 1 unfinished" in said
    world.run("ingest", str(drop), "--json")
    document = json.loads(capfd.readouterr().out)
    assert [(each["file"], each["why"]) for each in document["waiting"]] == [(f"{drop}/acme/song0.wav", "incomplete")]
    assert sum(document["ignored"].values()) == 3


def test_the_same_file_with_the_same_bytes_is_not_sent_again(world: SandboxWorld, samples: Samples, drop: Path) -> None:
    """Delivered again under its name it is recognised; under another name it is another file."""
    good = [alone(samples, "valid")]
    sent = []
    for name in ("song", "song", "renamed"):
        deliver(drop, good, name)
        assert world.run("ingest", str(drop)) == 0
        sent.append(sum(row["call"] == "verify" for row in world.table("exchanges")))

    assert sent == [1, 1, 2]
    assert sorted(path.name for path in (world.folder / "accepted" / "acme").iterdir()) == ["renamed0.wav", "song0.wav"]
