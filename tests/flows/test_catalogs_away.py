"""A catalog's share that is not mounted for a night: one alert that says so, and the state Outage."""

import shutil
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from ..servers.alert_receivers import Webhook
from ..worlds import command_world
from ..worlds.command_world import mount_dead_share, mounted_disk
from ..worlds.sandbox_world import Samples, SandboxWorld

AWAY = ["proofsweep: the catalog cannot be read (sandbox)"]


@pytest.fixture
def share(world: SandboxWorld, samples: Samples, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two valid files; a pass over it waits for nothing."""
    monkeypatch.setenv("PROOFSWEEP_INGEST__SETTLE_SECONDS", "0")
    monkeypatch.setenv("PROOFSWEEP_INGEST__PAIR_SECONDS", "0")
    return world.deliver(samples.valid[:2], "share")


def unmount(share: Path) -> None:
    share.rename(share.with_name("server"))


def unmount_and_keep_the_folder(share: Path) -> None:
    """Take a share away; the folder on which it was mounted is there, and empty."""
    unmount(share)
    share.mkdir()


def mount(share: Path) -> None:
    shutil.rmtree(share, ignore_errors=True)
    share.with_name("server").rename(share)


def nightly(world: SandboxWorld, catalog: Path) -> tuple[str, str]:
    """Verify a catalog as a schedule does; give the state's name and message."""
    state = world.flow("verify_catalog", catalog=str(catalog))
    return str(state.name), str(state.message)


def watch(world: SandboxWorld, folder: Path, go: Callable[[], None], said: str, come_back: Callable[[], None]) -> None:
    """Watch a folder, let something go, wait for what is said of it, and let it come back: the watch goes on."""
    watching = world.start("ingest", str(folder), "--watch", "--every", "1")

    def wait_until(holds: Callable[[], bool]) -> None:
        world.wait_for(lambda: holds() or watching.poll() is not None)

    try:
        wait_until(lambda: "nothing new" in world.logs)
        go()
        wait_until(lambda: said in world.logs)
        come_back()
        passes = world.logs.count("nothing new")
        wait_until(lambda: world.logs.count("nothing new") > passes + 1)
        assert watching.poll() is None, world.logs
    finally:
        watching.send_signal(signal.SIGTERM)
    assert watching.wait(timeout=60) == 0, world.logs


@pytest.mark.parametrize("take_away", [unmount, unmount_and_keep_the_folder])
def test_a_share_that_is_away_is_told_once_until_it_was_back(
    world: SandboxWorld, samples: Samples, share: Path, hook: Webhook, take_away: Callable[[Path], None]
) -> None:
    """By command and by flow; a good run of another catalog in between does not have it told again.

    A name that was never verified is a mistake, of which nobody else is told.
    """
    other = world.manifest(samples.valid[:1])
    assert [world.run("verify", str(each)) for each in (world.folder / "sahre", share)] == [2, 0]
    assert hook.titles == []
    take_away(share)

    codes = [world.run("verify", str(share)), world.run("verify", other)]
    states = [nightly(world, share), nightly(world, share)]
    told = list(hook.titles)
    mount(share)
    codes += [world.run("verify", str(share))]
    take_away(share)
    codes += [world.run("verify", str(share))]

    assert codes == [8, 0, 0, 8]
    assert [name for name, _ in states] == ["Outage", "Outage"]
    assert states[0][1].startswith(f"{share}: ")
    assert states[0][1].endswith("; earlier runs found files there: is it mounted?")
    assert "ignored: 0" not in states[0][1]
    assert (told, hook.titles) == (AWAY, AWAY * 2)
    assert f"catalog `{share}`" in hook.last["message"]
    assert "To do: if files or a catalog are away, see whether their share is mounted." in hook.last["message"]


def test_a_watched_share_that_is_away_is_told_once(world: SandboxWorld, share: Path, hook: Webhook) -> None:
    """By command and by flow; a watch goes on when the share is back."""
    codes = [world.run("ingest", str(share))]
    watch(world, share, lambda: unmount(share), "is it mounted?", lambda: mount(share))
    told = list(hook.titles)
    unmount(share)
    codes += [world.run("ingest", str(share))]
    state = world.flow("check_ingest", str(share))
    mount(share)
    codes += [world.run("ingest", str(share))]

    assert codes == [0, 8, 0]
    assert (state.type.value, state.name) == ("FAILED", "Outage")
    assert (told, hook.titles) == (AWAY, AWAY * 2)
    assert "Flow `check-ingest`" in hook.posts[0][1]["message"]


@pytest.mark.parametrize(
    ("take_away", "give_back"), [(unmount, mount), (mount_dead_share, command_world.unmount)], ids=["gone", "fails"]
)
def test_a_watched_folder_is_away_before_its_first_file_too(
    world: SandboxWorld, hook: Webhook, take_away: Callable[[Path], None], give_back: Callable[[Path], None]
) -> None:
    """Whether its name is gone, or its server answers nothing: the watch goes on, and one alert tells of it."""
    drop = world.folder / "drop"
    drop.mkdir()
    watch(world, drop, lambda: take_away(drop), "is it mounted?", lambda: give_back(drop))
    told = list(hook.titles)
    take_away(drop)
    codes = [world.run("ingest", str(drop))]
    give_back(drop)
    codes += [world.run("ingest", str(drop))]

    assert codes == [8, 0]
    assert (told, hook.titles) == (AWAY, AWAY * 2)


def test_a_watch_goes_on_when_the_results_store_is_back(world: SandboxWorld) -> None:
    """A store that fails for a while ends no watch: the next pass finds it again."""

    def let_results_be(target: str) -> None:
        (world.folder / "link").symlink_to(target)
        (world.folder / "link").replace(world.results)

    drop = world.folder / "drop"
    for folder in (drop, world.folder / "store"):
        folder.mkdir()
    let_results_be("store")

    # a link to itself: nothing can be read there
    fail, heal = partial(let_results_be, world.results.name), partial(let_results_be, "store")
    watch(world, drop, fail, "The results store", heal)


def test_a_mount_point_that_is_empty_is_no_folder_without_deliveries(world: SandboxWorld, share: Path) -> None:
    """Where suppliers' files are moved away, an empty folder is a quiet day, unless a share was mounted there."""
    with mounted_disk(world.folder / "drop") as drop:
        shutil.copytree(share, drop, dirs_exist_ok=True)
        codes = [world.run("ingest", str(drop))]

    codes += [world.run("ingest", str(drop))]
    (drop / "notes.txt").touch()
    codes += [world.run("ingest", str(drop))]

    assert codes == [0, 8, 0]
