"""A results store whose share is unmounted, or that hangs, in a run: what is paid is kept, and the words are true.

A label's share that is unmounted makes no file missing.
"""

import json
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ..servers.foreign_service import Answer
from ..worlds import core
from ..worlds.command_world import export_settings, mounted_disk
from ..worlds.foreign_world import ForeignWorld

ROWS = 80
VERDICTS = ["valid", "tampered"] * (ROWS // 2)
IS_SOAK = "PROOFSWEEP_SOAK_KILLS" in os.environ
VERIFY_SECONDS = 0.2
WORKERS = 4
LAST_SECOND = 1.0  # whose rows a leg may lose that ends while its store is away
ENDS_SECONDS = 60.0


class Mount:
    """A folder, a share that can be unmounted under a process that uses it."""

    def __init__(self, share: Path, place: Path) -> None:
        self.share, self.place = share, place
        self.place.mkdir()
        self.mount()

    def mount(self) -> None:
        subprocess.run(["mount", "--bind", self.share, self.place], check=True)

    def unmount(self) -> None:
        subprocess.run(["umount", "--lazy", self.place], check=True)


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Mount]:
    with mounted_disk(tmp_path / "share", size="64m") as share:
        mount = Mount(share, tmp_path / "results")
        yield mount
        mount.unmount()


def when_a_quarter_is_done(world: ForeignWorld, act: Callable[[], object]) -> None:
    """Let something happen then; each file takes its time."""
    begun = threading.Event()

    def slow(number: int, usual: Answer) -> Answer:
        if number >= ROWS // 4 and not begun.is_set():
            begun.set()
            act()
        time.sleep(VERIFY_SECONDS)
        return usual

    world.service.changes["verify"] = slow


def paid_again(world: ForeignWorld) -> int:
    return world.service.received["verify"] - ROWS


@pytest.mark.parametrize("seconds", [5.0, pytest.param(14.0, marks=pytest.mark.skipif(not IS_SOAK, reason="soak"))])
def test_a_run_goes_on_when_its_share_is_mounted_again(
    bare_world: ForeignWorld, mount: Mount, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    """The same leg: no row is paid twice, and nothing is left where the share was."""
    export_settings(monkeypatch, {"RETRY__BREAKER_SECONDS": "60", "PACE__WORKERS": str(WORKERS)})
    left: list[Path] = []

    def mount_again() -> None:
        left.extend(mount.place.rglob("*"))
        mount.mount()

    def go() -> None:
        mount.unmount()
        threading.Timer(seconds, mount_again).start()

    when_a_quarter_is_done(bare_world, go)

    ended_by = bare_world.verify(bare_world.catalog(*VERDICTS))

    assert (ended_by, left) == ("complete", [])
    assert [row["verdict"] for row in bare_world.rows()] == VERDICTS
    assert len(bare_world.legs()) == 1
    assert paid_again(bare_world) == 0
    assert [leg["calls_again"] for leg in bare_world.legs()] == [0]


@pytest.mark.parametrize("seconds", [2.0, pytest.param(400.0, marks=pytest.mark.skipif(not IS_SOAK, reason="soak"))])
@pytest.mark.timeout(900)
def test_a_run_whose_share_stays_away_ends_with_true_words(
    world: ForeignWorld, mount: Mount, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    """Only the rows of its last second are paid again, and said to be."""
    export_settings(monkeypatch, {"PACE__WORKERS": str(WORKERS), "BOUNDS__DRAIN_SECONDS": "1"})
    went: list[float] = []

    def go() -> None:
        mount.unmount()
        went.append(time.monotonic())

    when_a_quarter_is_done(world, go)

    code = world.start("verify", world.catalog(*VERDICTS)).wait()
    left = [*mount.place.rglob("*")]
    time.sleep(max(0.0, went[0] + seconds - time.monotonic()))
    mount.mount()
    again = world.run("resume")

    assert (code, left, again) == (8, [], 3)
    assert "is away: another folder, or none, stands in its place" in world.logs
    assert "took this leg over" not in world.logs
    assert "inished rows are kept" not in world.logs
    assert [row["verdict"] for row in world.rows()] == VERDICTS
    assert paid_again(world) <= WORKERS * (LAST_SECOND / VERIFY_SECONDS + 1)
    assert world.legs()[-1]["calls_again"] <= 3 * paid_again(world)


def test_a_label_s_share_that_is_unmounted_in_a_run_makes_no_file_missing(
    bare_world: ForeignWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor one that is away when the next run begins: its rows remain until it is back, and nothing is paid twice."""
    export_settings(monkeypatch, {"RETRY__BREAKER_SECONDS": "1", "PACE__WORKERS": str(WORKERS)})
    bare_world.catalog(*VERDICTS)
    with mounted_disk(tmp_path / "server", size="64m") as server:
        music = Mount(server, tmp_path / "music")
        for number in range(ROWS):
            shutil.move(bare_world.folder / f"{number}.wav", server / f"{number:03}.wav")
        when_a_quarter_is_done(bare_world, music.unmount)

        ended_by = [bare_world.verify(str(music.place)) for _ in range(2)]
        rows_while_away = len(bare_world.rows())
        music.mount()
        ended_by.append(bare_world.verify(str(music.place)))
        music.unmount()

    assert ended_by == ["breaker", "breaker", "complete"]
    assert ROWS // 4 - WORKERS <= rows_while_away < ROWS
    assert [row["verdict"] for row in bare_world.rows()] == VERDICTS
    assert paid_again(bare_world) == 0


def hang(world: ForeignWorld) -> None:
    """Let the leg's next look for a request to stop hang in the kernel: a FIFO that nobody writes into."""
    (entry,) = (
        json.loads(path.read_bytes())
        for path in sorted((world.folder / "results/_log").rglob("*.json"))
        if b'"begun"' in path.read_bytes()
    )
    legs = world.folder / "results/_runs" / entry["run_id"] / "legs" / f"{entry['leg']:03}"
    legs.mkdir(parents=True, exist_ok=True)
    os.mkfifo(legs / f"stop-{entry['holder']['token']}.json")


@pytest.mark.parametrize(("is_interrupted", "code"), [(False, 8), (True, 6)])
def test_a_process_whose_store_hangs_ends(
    world: ForeignWorld, monkeypatch: pytest.MonkeyPatch, code: int, *, is_interrupted: bool
) -> None:
    """No thread that hangs in the kernel keeps it: not after `breaker_seconds`, and not after one Ctrl-C."""
    breaker = "60" if is_interrupted else "2"
    export_settings(
        monkeypatch,
        {"PACE__WORKERS": "1", "BOUNDS__DRAIN_SECONDS": "1", "RETRY__BREAKER_SECONDS": breaker},
    )
    hangs = threading.Event()
    when_a_quarter_is_done(world, lambda: (hang(world), hangs.set()))

    process = world.start("verify", world.catalog(*VERDICTS), before=core.wait_less_for_store)
    assert hangs.wait(ENDS_SECONDS)
    if is_interrupted:
        time.sleep(5.0)  # the next look hangs by then
        process.send_signal(signal.SIGINT)
    began_at = time.monotonic()

    assert process.wait() == code
    assert time.monotonic() - began_at < ENDS_SECONDS
    assert world.service.received["verify"] < ROWS
