"""Batches that are delivered file by file, and passes that are killed: nothing is lost, taken early, or half moved.

There are two batches here; `make soak` delivers fifty.
"""

import os
import random
import signal
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ..worlds.command_world import export_settings
from ..worlds.ddex_messages import Sending, Track, batch_manifest, put_release, sent
from ..worlds.foreign_world import ForeignWorld
from .bare_runner import Runner
from .test_ingest import digest_of, digests_in, sent_by, wav_of

BATCHES = 50 if "PROOFSWEEP_SOAK_KILLS" in os.environ else 2
RELEASES = 2
SEED = int(os.environ.get("PROOFSWEEP_SOAK_SEED", "20261124"))
MOST_STEPS = 160
"""A pass that verifies and moves a batch makes some 140 changes of the file system."""
CALLS_AT_ONCE = 8


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

    def stages(self, number: int) -> "list[list[tuple[Path, bytes]]]":
        """Return the files of a batch, in the order in which they come: some, the others, the completion file."""
        batch = self.folder / f"202611240000{number:05}"
        files: list[tuple[Path, bytes]] = []
        audio: list[str] = []
        for release in range(RELEASES):
            name, content = f"{number:06}{release:07}", wav_of(number * RELEASES + release + 1)
            audio.append(digest_of(content))
            is_good = number % 3 != 1 or release > 0
            self.world.service.verdicts[audio[-1]] = "valid" if is_good else "tampered"
            tracks = [Track(isrc="QZABC2600001", files=[sent("a.wav", content)])]
            sending = Sending(
                icpn=name,
                message_id=name,
                thread_id=name,
                tracks=tracks,
            )
            message = put_release(self.folder.parent / "drafts" / name, sending)
            files += [
                (batch / name / "resources" / "a.wav", content),
                (batch / name / f"{name}.xml", message.read_bytes()),
                (batch / name / "resources" / "cover.jpg", f"cover {name}".encode()),
            ]
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


@pytest.fixture
def folder(bare_world: ForeignWorld, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty watched folder with both targets."""
    places = {name: str(bare_world.folder / name) for name in ("accepted", "quarantine")}
    export_settings(
        monkeypatch,
        {
            "INGEST__SETTLE_SECONDS": "0.2",
            "INGEST__ACCEPTED": places["accepted"],
            "INGEST__QUARANTINE": places["quarantine"],
            "PACE__FIRST_RATE": "400",
        },
    )
    (bare_world.folder / "delivered").mkdir()
    return bare_world.folder / "delivered"


@pytest.mark.timeout(1_800)
def test_batches_outlive_kills_whole(bare_world: ForeignWorld, folder: Path) -> None:
    """Each complete batch is in the end where it belongs; no other one is touched."""
    runner, chance = Runner(), random.Random(SEED)  # noqa: S311
    sender, kills = Sender(bare_world, folder, chance), 0
    targets = [bare_world.folder / name for name in ("accepted", "quarantine")]
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
                code = runner.do(f"pass {folder} {chance.randint(1, MOST_STEPS)} {chance.choice(['before', 'after'])}")
                assert code in {0, -signal.SIGKILL}
                kills += code != 0
                assert set(digests_in(folder, *targets)) >= set(delivered)
            is_complete = stage == len(stages)
            assert set(sent_by(bare_world)) <= (sender.complete if is_complete else complete_before)
    for _ in range(3):
        assert runner.do(f"pass {folder}") == 0

    print(f"{BATCHES} batches, {kills} kills of passes")  # noqa: T201 - `make soak` shows it
    assert set(sent_by(bare_world)) == sender.complete
    assert sum(sent_by(bare_world).values()) - len(sender.complete) <= kills * CALLS_AT_ONCE
    for name, (contents, is_accepted) in sender.expected.items():
        assert [digests_in(target / name) for target in targets] == [
            contents if is_accepted else Counter(),
            Counter() if is_accepted else contents,
        ]
    assert digests_in(folder) == sender.incomplete
    assert not list(bare_world.folder.rglob(".proofsweep-*"))
