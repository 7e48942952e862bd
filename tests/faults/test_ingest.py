"""A watched folder whose producers are at work, and passes that are killed: nothing is lost, halved or sent twice.

There are six kills of passes and two batches here; `make soak` has three hundred kills and fifty batches.
"""

import hashlib
import os
import random
import signal
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import count, cycle, islice
from pathlib import Path

import pytest

from ..servers.alert_receivers import Webhook, end_of
from ..servers.foreign_service import Answer
from ..worlds.command_world import export_settings, fill, wav_of
from ..worlds.core import retry_files_at_once
from ..worlds.ddex_messages import Sending, Track, batch_manifest, sent
from ..worlds.foreign_world import ForeignWorld
from .bare_runner import Runner

KILLS = int(os.environ.get("PROOFSWEEP_SOAK_KILLS", "6"))
IS_SOAK = "PROOFSWEEP_SOAK_KILLS" in os.environ
SEED = int(os.environ.get("PROOFSWEEP_SOAK_SEED", "20261124"))
SETTLE_SECONDS = 0.4
"""Many times the producer's longest pause, so that only the machine's load could make them meet."""
PAUSE_SECONDS = 0.02
WORK_SECONDS = 10.0 if IS_SOAK else 3.0
"""So long the producer delivers, while one pass follows another."""
BATCHES = 50 if IS_SOAK else 2
MOST_STEPS = 160
"""A pass that verifies and moves a batch makes some 140 changes of the file system; one over three pairs, ninety."""
CALLS_AT_ONCE = 8


@pytest.fixture
def folder(bare_world: ForeignWorld, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty watched folder, whose files settle soon and wait for no sidecar."""
    settings = {"SETTLE_SECONDS": str(SETTLE_SECONDS), "PAIR_SECONDS": "0"}
    export_settings(monkeypatch, {f"INGEST__{name}": text for name, text in settings.items()})
    export_settings(monkeypatch, {"PACE__FIRST_RATE": "400", "SERVICE__SIDECAR_FIELD": "sidecar"})
    (bare_world.folder / "delivered").mkdir()
    return bare_world.folder / "delivered"


@pytest.fixture
def targets(bare_world: ForeignWorld, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Where accepted files are moved, and where rejected ones are."""
    places = [bare_world.folder / name for name in ("accepted", "quarantine")]
    export_settings(monkeypatch, {f"INGEST__{place.name.upper()}": str(place) for place in places})
    return places


def audio_of(number: int, frames: int = 400) -> bytes:
    return wav_of(number.to_bytes(4, "big") * frames)


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
        content = audio_of(self._number, frames=self.chance.randint(200, 1_000))
        self.written.add(digest_of(content))
        return content

    def _some_name(self) -> str | None:
        names = sorted(path.name for path in self.folder.glob("*.wav"))
        return self.chance.choice(names) if names else None


def test_a_producer_at_work_is_never_read_too_early_or_twice(
    bare_world: ForeignWorld, folder: Path, targets: list[Path]
) -> None:
    """Only whole files are sent, each content once; of what lies there at the end, none is missing."""
    runner, producer = Runner(), Producer(folder, random.Random(5))  # noqa: S311
    working = threading.Thread(target=producer.work, args=(WORK_SECONDS,))
    working.start()
    while working.is_alive():
        runner.do(f"pass {folder}")
    left = digests_in(folder, targets[0])
    _finish(runner, folder)

    sent = sent_by(bare_world)
    assert len(sent) > 10
    assert set(sent) <= producer.written
    assert max(sent.values()) == 1
    assert set(left) <= set(sent)
    assert digests_in(folder) == Counter()
    assert set(left) == set(digests_in(targets[0]))


@pytest.mark.timeout(1_800)
def test_a_pass_that_is_killed_anywhere_loses_no_file(
    bare_world: ForeignWorld, folder: Path, targets: list[Path]
) -> None:
    """After each kill every file is somewhere whole; in the end each is once where it belongs, with its sidecar."""
    runner = Runner()
    chance, kills, steps = random.Random(11), 0, list(range(1, 70))  # noqa: S311
    chance.shuffle(steps)
    expected: dict[str, Counter[str]] = {"accepted": Counter(), "quarantine": Counter()}
    for attempt, step in enumerate(islice(cycle(steps), 3 * KILLS)):
        for number in range(3):
            _deliver_pair(bare_world, folder, f"{attempt}-{number}", expected)
        kills += _is_killed(runner, folder, step, chance)
        whole = sum(expected.values(), Counter())
        assert set(digests_in(folder, *targets)) >= set(whole)
        if kills == KILLS:
            break
    _finish(runner, folder)

    assert kills == KILLS
    assert digests_in(folder) == Counter()
    assert digests_in(targets[0]) == expected["accepted"]
    assert digests_in(targets[1]) == expected["quarantine"]
    assert not list(bare_world.folder.rglob(".proofsweep-*"))


def test_a_consumer_that_takes_files_at_once_gets_each_once(
    bare_world: ForeignWorld, folder: Path, targets: list[Path]
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


def _is_killed(runner: Runner, folder: Path, step: int, chance: random.Random) -> bool:
    """Make a pass that may be killed at a step; say whether it was."""
    code = runner.do(f"pass {folder} {step} {chance.choice(['before', 'after'])}")
    assert code in {0, -signal.SIGKILL}
    return code != 0


def _finish(runner: Runner, folder: Path) -> None:
    """Make as many passes as the files need to settle, to be verified, and to be moved."""
    for _ in range(3):
        assert runner.do(f"pass {folder}") == 0


def _deliver_pair(world: ForeignWorld, folder: Path, name: str, expected: dict[str, Counter[str]]) -> None:
    """Deliver a WAV and its sidecar, and note where both must be in the end."""
    audio, sidecar = audio_of(len(world.service.verdicts) + 1), f"sidecar of {name}".encode()
    is_good = len(world.service.verdicts) % 2 == 0
    world.service.verdicts[digest_of(audio)] = "valid" if is_good else "tampered"
    (folder / f"{name}.wav.sidecar").write_bytes(sidecar)
    (folder / f"{name}.wav").write_bytes(audio)
    expected["accepted" if is_good else "quarantine"].update([digest_of(audio), digest_of(sidecar)])


@dataclass
class Sender:
    """Delivers batches slowly; every fourth one is never complete, and every third one has a file that is rejected."""

    world: ForeignWorld
    folder: Path
    chance: random.Random
    complete: set[str] = field(default_factory=set)  # the contents of the audio of complete batches, as digests
    # all contents of each complete batch by the name of its folder, and whether it is accepted
    expected: dict[str, tuple[Counter[str], bool]] = field(default_factory=dict)
    incomplete: Counter[str] = field(default_factory=Counter)

    def stages(self, number: int) -> list[list[tuple[Path, bytes]]]:
        """Return the files of a batch, in the order in which they come: some, the others, the completion file."""
        batch = self.folder / f"202611240000{number:05}"
        files: list[tuple[Path, bytes]] = []
        audio: list[str] = []
        for release in range(2):
            name, content = f"{number:06}{release:07}", audio_of(number * 2 + release + 1)
            audio.append(digest_of(content))
            is_good = number % 3 != 1 or release > 0
            self.world.service.verdicts[audio[-1]] = "valid" if is_good else "tampered"
            track = Track(isrc="QZABC2600001", files=[sent("a.wav", content)])
            message = Sending(icpn=name, message_id=name, thread_id=name, tracks=[track]).content()
            audio_folder = batch / name / "resources"
            files += [(batch / name / f"{name}.xml", message), (audio_folder / "a.wav", content)]
            files += [(audio_folder / "cover.jpg", f"cover {name}".encode())]
        self.chance.shuffle(files)
        end = [(batch / "manifest.xml", batch_manifest(batch.name, [name]))]
        contents = Counter(digest_of(content) for _, content in [*files, *end])
        half = self.chance.randrange(1, len(files))
        if number % 4 == 3:
            self.incomplete += contents - Counter([digest_of(end[0][1])])
            return [files[:half], files[half:]]
        self.complete.update(audio)
        self.expected[batch.name] = contents, number % 3 != 1
        return [files[:half], files[half:], end]


@pytest.mark.timeout(1_800)
def test_batches_outlive_kills_whole(bare_world: ForeignWorld, folder: Path, targets: list[Path]) -> None:
    """Each complete batch is in the end where it belongs; no other one is touched."""
    runner, chance = Runner(), random.Random(SEED)  # noqa: S311
    sender, kills = Sender(bare_world, folder, chance), 0
    delivered: Counter[str] = Counter()
    for number in range(BATCHES):
        complete_before = set(sender.complete)
        stages = sender.stages(number)
        for stage, files in enumerate(stages, 1):
            for path, content in files:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
                delivered[digest_of(content)] += 1
            for _ in range(1 if stage < len(stages) else 2):
                kills += _is_killed(runner, folder, chance.randint(1, MOST_STEPS), chance)
                assert set(digests_in(folder, *targets)) >= set(delivered)
            is_complete = stage == len(stages)
            assert set(sent_by(bare_world)) <= (sender.complete if is_complete else complete_before)
    _finish(runner, folder)

    print(f"{BATCHES} batches, {kills} kills of passes")  # noqa: T201 - `make soak` shows it
    assert kills
    assert set(sent_by(bare_world)) == sender.complete
    assert sum(sent_by(bare_world).values()) - len(sender.complete) <= kills * CALLS_AT_ONCE
    for name, (contents, is_accepted) in sender.expected.items():
        found = [digests_in(target / name) for target in targets]
        assert found == ([contents, Counter()] if is_accepted else [Counter(), contents])
    assert digests_in(folder) == sender.incomplete
    assert not list(bare_world.folder.rglob(".proofsweep-*"))


def test_files_that_a_full_disk_keeps_from_being_moved_are_told_until_they_are_moved(
    world: ForeignWorld, folder: Path, small_target: Path, hook: Webhook, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each pass exits with 4 or is NotMoved, says why and where, and sends nothing again; somebody is told once.

    The pass that moves them ends with what it has moved: half of them are rejected.
    """
    for number in range(16):
        audio = audio_of(number)
        world.service.verdicts[digest_of(audio)] = "tampered" if number % 2 else "valid"
        (folder / f"{number}.wav").write_bytes(audio)
    expected, filler = digests_in(folder), small_target / "filler"
    fill(filler)

    codes = [world.run("ingest", str(folder))]
    first = capfd.readouterr()
    charged = world.service.charged
    codes += [world.run("ingest", str(folder))]
    state = world.flow("check_ingest", str(folder))
    told = list(hook.titles)
    filler.unlink()
    codes += [world.run("ingest", str(folder)), world.run("ingest", str(folder))]

    why = f"The file cannot be moved: No space left on device. It should go to {small_target}/"
    assert codes == [4, 4, 3, 0]
    assert f"proofsweep: 8 not moved: {why}ok (ingest.accepted)." in first.err
    assert f"proofsweep: 8 not moved: {why}bad (ingest.quarantine)." in first.err
    assert (state.type.value, state.name) == ("FAILED", "NotMoved")
    assert f"8 not moved: {why}bad (ingest.quarantine)." in str(state.message)
    assert told == [f"proofsweep: verified files that are not moved: 16 (elsewhere, {end_of(folder)})"]
    assert world.service.charged == charged
    assert (digests_in(folder), digests_in(small_target)) == (digests_in(), expected)


def test_a_file_that_fails_and_files_that_cannot_be_moved_are_told_once(
    world: ForeignWorld, folder: Path, small_target: Path, hook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever else is delivered, verified and moved meanwhile; again only when it was over, and has come back."""
    retry_files_at_once(monkeypatch)
    export_settings(monkeypatch, {"RETRY__ATTEMPTS": "1"})
    numbers = count()

    def fail(_number: int, usual: Answer) -> Answer:
        is_failing = isinstance(usual.document, dict) and usual.document.get("verdict") == "tampered"
        return Answer(500) if is_failing else usual

    def deliver(verdict: str) -> Path:
        audio, path = audio_of(number := next(numbers)), folder / f"{number}.wav"
        world.service.verdicts[digest_of(audio)] = verdict
        path.write_bytes(audio)
        return path

    def titles_after(*passes: str) -> list[str]:
        before = len(hook.titles)
        for verdict in passes:
            if verdict:
                deliver(verdict)
            world.run("ingest", str(folder))
        return hook.titles[before:]

    world.service.changes["verify"] = fail
    failing = deliver("tampered")
    failed = titles_after("", "valid", "")
    fill(small_target / "filler")
    unmoved = titles_after("valid", "valid")
    (small_target / "filler").unlink()
    world.service.changes.clear()
    healed = titles_after("")
    world.service.changes["verify"] = fail
    again = titles_after("tampered")

    assert not failing.exists()
    assert failed == [f"proofsweep: 1 of 1 row failed, and none was answered (elsewhere, {end_of(folder)})"]
    assert unmoved == [f"proofsweep: verified files that are not moved: 1 (elsewhere, {end_of(folder)})"]
    assert (healed, again) == ([], failed)
