"""No name that a supplier chose, and no text of the partner, forges a line of any command or steers the terminal."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import proofsweep_sandbox as sandbox

from ..worlds import core
from ..worlds.hostile_names import HOSTILE, assert_shows_no_command, write_hostile_files
from .conftest import Command


@pytest.fixture
def wav(catalog: Path) -> Path:
    return next(path for path in sorted(catalog.rglob("*.wav")) if path.stat().st_size > 1000)


@pytest.fixture
def folder(workdir: Path, wav: Path) -> Path:
    """A folder with a hostile name, full of such files."""
    return write_hostile_files(workdir / HOSTILE[0], wav.read_bytes())[0].parent


@pytest.fixture
def hostile_partner(running: sandbox.Running) -> Iterator[None]:
    """A service that sends such text in each member that is shown."""
    running.operator.add_fault("verify", "answer", answer={"verdict": HOSTILE[0], "good": False, "song": HOSTILE[1]})
    running.operator.add_fault("*", "headers", headers={"X-Request-Id": "id\x9b2J"})
    running.operator.add_fault("health", "answer", answer={"version": HOSTILE[0]})
    yield
    running.operator.clear_faults()


@pytest.fixture
def shown(proofsweep: Command) -> Callable[..., str]:
    """Run a command, check what it shows on both streams, and give it."""

    def shown(*arguments: str | Path) -> str:
        done = proofsweep(*arguments)
        assert_shows_no_command(done.stdout)
        assert_shows_no_command(done.stderr)
        assert "Traceback" not in done.stderr
        return done.stdout + done.stderr

    return shown


def test_plan(shown: Callable[..., str], folder: Path, workdir: Path) -> None:
    """A file's ending is counted as a format, and the catalog's name is the headline.

    Cells of a manifest are names too; a column, or a file, that is not there is named.
    """
    for more in ([], ["--list"], ["--list", "--format", "csv"], ["--json"]):
        assert shown("plan", folder, *more)
    manifest = workdir / f"{HOSTILE[1]}.jsonl"
    rows = [{"audio": str(folder / f"{name[0]}\n{name[:-1]}.wav")} for name in HOSTILE[:-1]]
    manifest.write_text("".join(json.dumps(row) + "\n" for row in rows))

    shown("plan", manifest)
    shown("plan", workdir / f"{HOSTILE[0]}.csv")
    manifest.with_suffix(".csv").write_text("title\x1b[2J\n1\n")
    shown("plan", manifest.with_suffix(".csv"))


@pytest.mark.usefixtures("hostile_partner")
def test_check(shown: Callable[..., str], folder: Path) -> None:
    """The verdict is the headline: it cannot end it and begin a better one."""
    told = [shown("check", path) for path in sorted(folder.iterdir())]
    shown("check", folder / f"{HOSTILE[0]}.wav", "--json")

    assert any(r"rejected · a\naccepted · forged" in each for each in told)


def test_check_of_an_accepted_file(shown: Callable[..., str], running: sandbox.Running, wav: Path) -> None:
    """The song is what its supplier registered."""
    issued = running.operator.issue(wav, Path("issued").absolute(), song="Intro\x1b[2J\u202e")

    assert r"song: Intro\x1b[2J\u202e" in shown("check", issued.audio)


@pytest.mark.usefixtures("hostile_partner")
def test_a_run_that_is_shown_later(shown: Callable[..., str], folder: Path, proofsweep: Command) -> None:
    """Its plan, its rows and its store have such names; `resume` shows it as `verify` does."""
    run_id = core.verified(folder)

    assert r"a\naccepted · forged" in shown("status")
    for command in (["status"], ["status", run_id], ["resume", run_id]):
        assert json.loads(proofsweep(*command, "--json").stdout)
        shown(*command, "--json")


@pytest.mark.usefixtures("hostile_partner")
def test_doctor(shown: Callable[..., str], folder: Path, workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service's version, the results store and the pair are named."""
    (workdir / "x.sidecar").write_text("{}")
    pair = (next(folder.glob("a*.wav")), workdir / "x.sidecar")

    monkeypatch.setenv("PROOFSWEEP_SERVICE__KNOWN_GOOD", json.dumps([list(map(str, pair))]))

    assert r"version a\naccepted · forged" in shown("doctor", "--results", HOSTILE[1])
    shown("doctor", "--json")


@pytest.mark.parametrize(
    "arguments",
    [
        ["demo", "--folder", HOSTILE[0]],
        ["verify", HOSTILE[1]],
        ["plan", "music", "--config", f"{HOSTILE[1]}.toml"],
        ["plan", "music", "--until", HOSTILE[1]],
        ["status", HOSTILE[0]],
        [HOSTILE[0]],
        ["plan", "music", HOSTILE[1]],
    ],
    ids=lambda arguments: arguments[0].split("\n")[0],
)
def test_a_refusal(shown: Callable[..., str], workdir: Path, arguments: list[str]) -> None:
    """It quotes what was given on the command line, in one line."""
    (workdir / HOSTILE[0]).mkdir()
    (workdir / HOSTILE[0] / "mine").touch()

    told = shown(*arguments)

    assert told.startswith("proofsweep: ")
    assert told.count("\n") == 1


def test_a_terminal_without_utf_8_shows_escapes(folder: Path) -> None:
    """A letter that it lacks ends no command."""
    (folder / "música.wav").write_bytes(b"no audio")
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONIOENCODING": "ascii"}

    done = subprocess.run(
        [sys.executable, "-m", "proofsweep_cli", "check", folder / "música.wav"],
        check=False,
        capture_output=True,
        env=env,
    )

    assert done.returncode == 3
    assert b"ineligible \\xb7 " in done.stdout
    assert b"Traceback" not in done.stderr
