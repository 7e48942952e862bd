"""A catalog's share that is not mounted for a night: one alert that says so, and the state Outage."""

import shutil
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from ..servers.alert_receivers import Webhook, end_of
from ..worlds import command_world
from ..worlds.command_world import export_settings, mount_dead_share, mounted_disk, said
from ..worlds.sandbox_world import Samples, SandboxWorld


def away(folder: Path) -> str:
    return f"proofsweep: the catalog cannot be read (sandbox, {end_of(folder)})"


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
    assert (told, hook.titles) == ([away(share)], [away(share)] * 2)
    assert f"Catalog `{share}`" in hook.last["message"]
    assert "Files, a catalog or results that are away: mount their share." in hook.last["message"]


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
    assert (told, hook.titles) == ([away(share)], [away(share)] * 2)
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
    assert (told, hook.titles) == ([away(drop)], [away(drop)] * 2)


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


class Labels:
    """A catalog of two labels, of which one is mounted; the folder below the mount may hold a file."""

    def __init__(self, world: SandboxWorld, samples: Samples) -> None:
        self.world, self.samples = world, samples
        self.here, self.share = world.folder / "music/here", world.folder / "music/share"

    def deliver(self, label: Path) -> None:
        (label / "album").mkdir(parents=True)
        for number, sample in enumerate(self.samples.one_files[:2]):
            shutil.copy(sample.audio, label / f"album/{label.name}-{number}.wav")

    def catalog(self, kind: str) -> str:
        """Return the folder, or a list that names the files of both labels."""
        if kind == "folder":
            return str(self.here.parent)
        lines = [f"{label.name}/album/{label.name}-{each}.wav" for label in (self.here, self.share) for each in (0, 1)]
        listed = self.here.parent / "list.csv"
        listed.write_text("\n".join(["audio", *lines]))
        return str(listed)

    def outcomes(self) -> list[str]:
        return [str(row["outcome"]) for row in self.world.rows()]


@pytest.mark.parametrize("kind", ["folder", "list"])
def test_a_label_that_is_not_mounted_makes_no_file_missing(
    world: SandboxWorld, samples: Samples, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """The other label is verified, the run ends with 8 and names the folder; when it is mounted, all is finished."""
    monkeypatch.setenv("PROOFSWEEP_RETRY__BREAKER_SECONDS", "1")
    labels = Labels(world, samples)
    labels.deliver(labels.here)
    catalog = labels.catalog(kind)
    if kind == "folder":  # only what was listed before is known to be away
        with mounted_disk(labels.share, "64m"):
            labels.deliver(labels.share)
            assert world.run("verify", catalog) == 0
    else:
        labels.share.mkdir()
    rows = len(labels.outcomes())

    assert world.run("verify", catalog) == 8
    newest = max(str(row["run_id"]) for row in world.rows())
    assert f"{labels.share} is away: it is empty" in said("status", newest, "--results", world.results_url)
    assert sorted(labels.outcomes()[rows:]) == ["accepted"] * 2

    labels.share.rmdir()
    with mounted_disk(labels.share, "64m"):
        labels.deliver(labels.share)
        # The run that goes on first has a row for the folder as it was planned; the next one has its files.
        assert world.run("verify", catalog) == (3 if kind == "folder" else 0)
    found = world.rows()
    assert "missing_audio" not in {row["reason"] for row in found}
    assert len({row["audio"] for row in found if row["outcome"] == "accepted"}) == 4


def test_a_folder_that_passes_have_emptied_is_no_share_that_is_away(
    world: SandboxWorld, share: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sweep of it has nothing to do, until a share that was mounted there is away."""
    world.run("verify", str(share))
    export_settings(monkeypatch, {"INGEST__ACCEPTED": str(world.folder / "accepted")})
    codes = [world.run("ingest", str(share)), world.run("verify", str(share))]
    share.rmdir()
    codes += [world.run("verify", str(share))]

    assert codes == [0, 0, 8]
