"""A watched folder whose producer is at work, and passes that are killed: nothing is lost, halved or sent twice."""

import hashlib
import os
import random
import signal
import threading
import time
import wave
from collections import Counter
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

import pytest

from ..worlds.command_world import export_settings
from ..worlds.foreign_world import ForeignWorld
from .bare_runner import Runner

KILLS = int(os.environ.get("PROOFSWEEP_SOAK_KILLS", "6"))
SETTLE_SECONDS = 0.4
"""Many times the producer's longest pause, so that only the machine's load could make them meet."""
PAUSE_SECONDS = 0.02
WORK_SECONDS = 10.0 if "PROOFSWEEP_SOAK_KILLS" in os.environ else 3.0
"""So long the producer delivers, while one pass follows another."""


@pytest.fixture
def folder(bare_world: ForeignWorld, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty watched folder, whose files settle soon and wait for no sidecar."""
    export_settings(monkeypatch, {"INGEST__SETTLE_SECONDS": str(SETTLE_SECONDS), "INGEST__PAIR_SECONDS": "0"})
    monkeypatch.setenv("PROOFSWEEP_PACE__FIRST_RATE", "400")
    monkeypatch.setenv("PROOFSWEEP_SERVICE__SIDECAR_FIELD", "sidecar")
    (bare_world.folder / "delivered").mkdir()
    return bare_world.folder / "delivered"


@pytest.fixture
def targets(bare_world: ForeignWorld, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    places = bare_world.folder / "accepted", bare_world.folder / "quarantine"
    export_settings(monkeypatch, {"INGEST__ACCEPTED": str(places[0]), "INGEST__QUARANTINE": str(places[1])})
    return places


def wav_of(number: int, frames: int = 400) -> bytes:
    written = BytesIO()
    with wave.open(written, "wb") as file:
        file.setparams((1, 2, 8_000, 0, "NONE", ""))
        file.writeframes(number.to_bytes(4, "big") * frames)
    return written.getvalue()


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def sent_by(world: ForeignWorld) -> Counter[str]:
    """Count how often each content was sent to the service."""
    return Counter(digest_of(form[-1][1].removesuffix(b"\r\n")) for form in world.service.forms)


def digests_in(*folders: Path) -> Counter[str]:
    """Count the content of all files below some folders, hidden ones too."""
    return Counter(digest_of(path.read_bytes()) for folder in folders for path in folder.rglob("*") if path.is_file())


@dataclass
class Producer:
    """Delivers files as suppliers do: slowly, under another name first, over old ones; and takes some back."""

    folder: Path
    chance: random.Random
    written: set[str] = field(default_factory=set)
    _number: int = 0

    def work(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.chance.choice([self.write_slowly, self.write_aside, self.overwrite, self.delete])()
            time.sleep(self.chance.uniform(0, PAUSE_SECONDS))

    def write_slowly(self, name: str | None = None) -> None:
        """Write a file in pieces under its own name."""
        content = self._content()
        with (self.folder / (name or f"{self._number}.wav")).open("wb") as file:
            for start in range(0, len(content), 600):
                file.write(content[start : start + 600])
                file.flush()
                time.sleep(PAUSE_SECONDS)

    def write_aside(self) -> None:
        """Write a file under a name that is no audio's, and then rename it."""
        content = self._content()
        aside = self.folder / f"{self._number}.wav.part"
        aside.write_bytes(content[:700])
        time.sleep(PAUSE_SECONDS)
        aside.write_bytes(content)
        aside.rename(self.folder / f"{self._number}.wav")

    def overwrite(self) -> None:
        """Write a file anew under the name of one that is there."""
        if name := self._some_name():
            self.write_slowly(name)

    def delete(self) -> None:
        if (name := self._some_name()) and self.chance.random() < 0.3:
            (self.folder / name).unlink()

    def _content(self) -> bytes:
        self._number += 1
        content = wav_of(self._number, frames=self.chance.randint(200, 1_000))
        self.written.add(digest_of(content))
        return content

    def _some_name(self) -> str | None:
        names = sorted(path.name for path in self.folder.glob("*.wav"))
        return self.chance.choice(names) if names else None


def test_a_producer_at_work_is_never_read_too_early_or_twice(
    bare_world: ForeignWorld, folder: Path, targets: tuple[Path, Path]
) -> None:
    """Only whole files are sent, each content once; of what lies there at the end, none is missing."""
    runner, producer = Runner(), Producer(folder, random.Random(5))  # noqa: S311
    working = threading.Thread(target=producer.work, args=(WORK_SECONDS,))
    working.start()
    while working.is_alive():
        runner.do(f"pass {folder}")
    left = digests_in(folder, targets[0])
    for _ in range(3):
        assert runner.do(f"pass {folder}") == 0

    sent = sent_by(bare_world)
    assert len(sent) > 10
    assert set(sent) <= producer.written
    assert max(sent.values()) == 1
    assert set(left) <= set(sent)
    assert digests_in(folder) == Counter()
    assert set(left) == set(digests_in(targets[0]))


@pytest.mark.timeout(1_800)
def test_a_pass_that_is_killed_anywhere_loses_no_file(
    bare_world: ForeignWorld, folder: Path, targets: tuple[Path, Path]
) -> None:
    """After each kill every file is somewhere whole; in the end each is once where it belongs, with its sidecar."""
    runner = Runner()
    chance, kills, steps = random.Random(11), 0, list(range(1, 90))  # noqa: S311
    chance.shuffle(steps)
    expected: dict[str, Counter[str]] = {"accepted": Counter(), "quarantine": Counter()}
    while kills < KILLS:
        for number in range(3):
            _deliver_pair(bare_world, folder, f"{kills}-{number}", expected)
        code = runner.do(f"pass {folder} {steps[kills % len(steps)]} {chance.choice(['before', 'after'])}")
        assert code in {0, -signal.SIGKILL}
        kills += 1
        whole = sum(expected.values(), Counter())
        assert set(digests_in(folder, *targets)) >= set(whole)
    for _ in range(3):
        assert runner.do(f"pass {folder}") == 0

    assert digests_in(folder) == Counter()
    assert digests_in(targets[0]) == expected["accepted"]
    assert digests_in(targets[1]) == expected["quarantine"]
    assert not list(bare_world.folder.rglob(".proofsweep-*"))


def test_a_consumer_that_takes_files_at_once_gets_each_once(
    bare_world: ForeignWorld, folder: Path, targets: tuple[Path, Path]
) -> None:
    """It empties the target all the time; each file leaves the watched folder in its first pass, with one row."""
    expected: dict[str, Counter[str]] = {"accepted": Counter(), "quarantine": Counter()}
    for number in range(40):
        _deliver_pair(bare_world, folder, f"a-{number}", expected)
    taken: Counter[str] = Counter()
    is_over = threading.Event()

    def take() -> None:
        while not is_over.is_set():
            for path in filter(Path.is_file, targets[0].rglob("[!.]*")):
                taken.update([digest_of(path.read_bytes())])
                path.unlink()

    consumer = threading.Thread(target=take)
    consumer.start()
    codes = [Runner().do(f"pass {folder}") for _ in range(2)]
    is_over.set()
    consumer.join()

    rows = bare_world.table("ingest")
    assert codes == [0, 0]
    assert taken == expected["accepted"]
    assert digests_in(folder) == Counter()
    assert Counter(row["disposition"] for row in rows) == {"accepted": 20, "quarantined": 20}


def _deliver_pair(world: ForeignWorld, folder: Path, name: str, expected: dict[str, Counter[str]]) -> None:
    """Deliver a WAV and its sidecar, and note where both must be in the end."""
    audio, sidecar = wav_of(len(world.service.verdicts) + 1), f"sidecar of {name}".encode()
    is_good = len(world.service.verdicts) % 2 == 0
    world.service.verdicts[digest_of(audio)] = "valid" if is_good else "tampered"
    (folder / f"{name}.wav.sidecar").write_bytes(sidecar)
    (folder / f"{name}.wav").write_bytes(audio)
    expected["accepted" if is_good else "quarantine"].update([digest_of(audio), digest_of(sidecar)])
