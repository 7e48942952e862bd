"""A pass over a watched folder says what it could not do: by its exit code, its state, a line and an alert."""

import hashlib
from pathlib import Path

import pytest

from ..servers.alert_receivers import Webhook
from ..worlds.command_world import export_settings
from ..worlds.foreign_world import ForeignWorld
from .test_disk_full import fill
from .test_ingest import digests_in, wav_of

FILES = 16


@pytest.fixture
def delivered(world: ForeignWorld, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A watched folder, whose files settle soon and wait for no sidecar."""
    export_settings(monkeypatch, {"INGEST__SETTLE_SECONDS": "0.1", "INGEST__PAIR_SECONDS": "0"})
    folder = world.folder / "delivered"
    folder.mkdir()
    return folder


def test_files_that_a_full_disk_keeps_from_being_moved_are_told_until_they_are_moved(
    world: ForeignWorld, delivered: Path, small_target: Path, hook: Webhook, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each pass exits with 4 or is NotMoved, says why and where, and sends nothing again; somebody is told once.

    The pass that moves them ends with what it has moved: half of them are rejected.
    """
    for number in range(FILES):
        audio = wav_of(number)
        world.service.verdicts[hashlib.sha256(audio).hexdigest()] = "tampered" if number % 2 else "valid"
        (delivered / f"{number}.wav").write_bytes(audio)
    expected, filler = digests_in(delivered), small_target / "filler"
    fill(filler)

    codes = [world.run("ingest", str(delivered))]
    first = capfd.readouterr()
    charged = world.service.charged
    codes += [world.run("ingest", str(delivered))]
    state = world.flow("check_ingest", str(delivered))
    told = list(hook.titles)
    filler.unlink()
    codes += [world.run("ingest", str(delivered)), world.run("ingest", str(delivered))]

    why = f"The file cannot be moved: No space left on device. It should go to {small_target}/"
    assert codes == [4, 4, 3, 0]
    assert f"proofsweep: 8 not moved: {why}ok (ingest.accepted)." in first.err
    assert f"proofsweep: 8 not moved: {why}bad (ingest.quarantine)." in first.err
    assert (state.type.value, state.name) == ("FAILED", "NotMoved")
    assert f"8 not moved: {why}bad (ingest.quarantine)." in str(state.message)
    assert told == ["proofsweep: verified files that are not moved: 16 (elsewhere)"]
    assert world.service.charged == charged
    assert (digests_in(delivered), digests_in(small_target)) == (digests_in(), expected)
