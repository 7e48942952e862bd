"""What is delivered into a watched folder is verified once and moved by its verdict, and a pass says what it found."""

import json
import os
import shutil
import signal
import wave
from collections.abc import Iterator
from pathlib import Path

import pytest

import proofsweep_sandbox as sandbox

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
    world: SandboxWorld, samples: Samples, drop: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Accepted files and rejected ones go to their folders with their sidecars; what cannot be sent stays.

    `rejects` and `explain` say where a file is.
    """
    good, bad = of_verdict(samples, "valid", 6), of_verdict(samples, "tampered", 3)
    deliver(good + bad, drop / "acme")
    (drop / "acme" / "notes.flac").write_bytes(b"fLaC" + bytes(100))

    code = world.run("ingest", str(drop))

    accepted, quarantine = world.folder / "accepted", world.folder / "quarantine"
    assert code == 3
    assert names_in(drop) == {"acme/notes.flac"}
    assert names_in(accepted) == {f"acme/{p.name}" for s in good for p in (s.audio, s.sidecar) if p}
    assert names_in(quarantine) == {f"acme/{p.name}" for s in bad for p in (s.audio, s.sidecar) if p}
    assert len(world.table("ingest")) == 10
    first = min(f"acme/{sample.audio.name}" for sample in bad)
    capfd.readouterr()
    for command in (["rejects"], ["explain", Path(first).name], ["rejects", "--json"]):
        world.run(*command)
    said = capfd.readouterr().out
    assert said.count(f"now {quarantine}/{first}\n") == 2, "people look for the file where it is"
    assert f'"{quarantine}/{first}"' in said
    assert f"now {drop}" not in said


def test_the_flow_of_a_schedule_does_the_same(world: SandboxWorld, samples: Samples, drop: Path) -> None:
    """A pass with rejected files is Completed, since each file has its outcome; so is one that finds nothing."""
    deliver(of_verdict(samples, "valid", 2) + of_verdict(samples, "tampered", 1), drop)

    first = world.flow("check_ingest", str(drop))
    second = world.flow("check_ingest", str(drop))

    assert (first.is_completed(), second.is_completed()) == (True, True)
    assert "2 accepted, 1 rejected, 2 moved (accepted), 1 moved (quarantined)" in str(first.message)
    assert "nothing new" in str(second.message)
    assert names_in(drop) == set()
    assert (world.folder / "accepted").is_dir()


@pytest.mark.parametrize(("refused", "state"), [(1, "SomeFailed"), (3, "AllFailed")])
def test_a_pass_with_failed_files_is_named_so(
    world: SandboxWorld, samples: Samples, drop: Path, refused: int, state: str
) -> None:
    """They are tried again later, but nobody may take the pass for a good one."""
    deliver(of_verdict(samples, "valid", 3), drop)
    world.operator.add_fault("verify", "status", status=422, count=refused)

    ended = world.flow("check_ingest", str(drop))

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
def test_watching_goes_on_until_it_is_stopped(
    world: SandboxWorld, samples: Samples, drop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is delivered later is verified too; a second process may not watch the same folder."""
    monkeypatch.setenv("PROOFSWEEP_INGEST__SETTLE_SECONDS", "0.2")
    process = world.start("ingest", str(drop), "--watch", "--every", "1")
    try:
        world.wait_for(lambda: "nothing new" in world.logs or process.poll() is not None)
        deliver(of_verdict(samples, "valid", 1), drop)
        world.wait_for(lambda: world.table("ingest") or process.poll() is not None)
        assert world.run("ingest", str(drop)) == 9
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0, world.logs
    finally:
        process.kill()
    assert [row["outcome"] for row in world.table("ingest")] == ["accepted"]


def alone(samples: Samples, verdict: str) -> Path:
    """Return a WAV without a sidecar that has this verdict."""
    return next(each.audio for each in samples.files if each.verdict == verdict and each.sidecar is None)


def deliver_alone(drop: Path, audio: list[Path], name: str = "song") -> None:
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
    deliver_alone(drop, [alone(samples, "tampered")] * 2)
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
    deliver_alone(drop, [plain])
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
    deliver_alone(drop, [plain])
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
    waiting = [(each["file"].removeprefix(f"{drop}/acme/"), each["why"]) for each in document["waiting"]]
    assert waiting == [("song0.wav", "incomplete"), ("next.wav.part", "unfinished")]
    assert sum(document["ignored"].values()) == 3


def test_the_same_file_with_the_same_bytes_is_not_sent_again(world: SandboxWorld, samples: Samples, drop: Path) -> None:
    """Delivered again under its name it is recognised; under another name it is another file."""
    good = [alone(samples, "valid")]
    sent = []
    for name in ("song", "song", "renamed"):
        deliver_alone(drop, good, name)
        assert world.run("ingest", str(drop)) == 0
        sent.append(sum(row["call"] == "verify" for row in world.table("exchanges")))

    assert sent == [1, 1, 2]
    assert sorted(path.name for path in (world.folder / "accepted" / "acme").iterdir()) == ["renamed0.wav", "song0.wav"]
