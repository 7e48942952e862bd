"""`proofsweep sandbox`: it serves in its own process, and issues proofs."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import proofsweep_sandbox as sandbox

from .conftest import Command

FREE = ("--port", "0")


@pytest.fixture
def bare(catalog: Path) -> Path:
    return next(catalog.rglob("*Intro.wav"))


@pytest.fixture
def serving(workdir: Path) -> Iterator[subprocess.Popen[str]]:
    env = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-m", "proofsweep_cli", "sandbox", "--home", "home", *FREE]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=workdir, env=env
    ) as it:
        yield it
        it.kill()


def test_the_sandbox_prints_its_address_and_the_next_commands(serving: subprocess.Popen[str], workdir: Path) -> None:
    """It prints the settings that lead to it, and Ctrl-C ends it with exit code 0."""
    assert serving.stdout is not None
    introduction = [serving.stdout.readline() for _ in range(5)]
    serving.send_signal(signal.SIGINT)
    last_lines, _ = serving.communicate()

    assert introduction[0].startswith("The sandbox serves at http://127.0.0.1:")
    assert "PROOFSWEEP_SERVICE__API_KEY_FILE=home/key proofsweep verify music" in introduction[3]
    assert "The sandbox has ended" in last_lines
    assert serving.returncode == 0
    assert (workdir / "home" / "key").is_file()


def test_a_port_that_is_taken_is_named(proofsweep: Command) -> None:
    """Another sandbox has it; one line is enough to start a second one."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = proofsweep("sandbox", "--port", str(port))

    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert f"The port {port} cannot be used (Address already in use)" in done.stderr
    assert "--port" in proofsweep("sandbox", "--port", "99999").stderr


def test_a_home_that_is_a_file_is_reported(proofsweep: Command, workdir: Path) -> None:
    """The home must be a folder."""
    (workdir / "home").write_text("mine")

    done = proofsweep("sandbox", "--home", "home", *FREE)

    assert done.returncode == 2
    assert "home cannot be used" in done.stderr


def test_your_own_wav_gets_a_credential(
    proofsweep: Command, running: sandbox.Running, workdir: Path, bare: Path
) -> None:
    """The credentialed copy is written to `issued`, and is accepted."""
    done = proofsweep("sandbox", "issue", bare, "--operator", running.operator_url)

    copy = workdir / "issued" / bare.name
    assert done.returncode == 0
    assert done.stdout.startswith(f"issued/{bare.name}  prf_")
    assert proofsweep("check", copy).returncode == 0


def test_your_own_mp3_gets_a_sidecar(
    proofsweep: Command, running: sandbox.Running, workdir: Path, catalog: Path
) -> None:
    """The audio does not change; the sidecar is written beside it, where a scan finds it."""
    audio = workdir / "song.mp3"
    audio.write_bytes(next(catalog.rglob("*.mp3")).read_bytes())

    done = proofsweep("sandbox", "issue", "song.mp3", "--legacy", "--operator", running.operator_url)

    assert done.returncode == 0
    assert proofsweep("check", audio, workdir / "song.mp3.sidecar").returncode == 0


def test_issuing_overwrites_nothing(proofsweep: Command, running: sandbox.Running, workdir: Path, bare: Path) -> None:
    """A file of the same name is kept."""
    (workdir / "issued").mkdir()
    (workdir / "issued" / bare.name).write_text("mine")

    done = proofsweep("sandbox", "issue", bare, "--operator", running.operator_url)

    assert done.returncode == 2
    assert "is not overwritten" in done.stderr
    assert (workdir / "issued" / bare.name).read_text() == "mine"


@pytest.mark.parametrize(
    ("head", "words"),
    [(b"ID3\x03", "not a whole WAV"), (None, "cannot be read")],
)
def test_a_file_that_gets_no_proof_is_reported(
    proofsweep: Command, running: sandbox.Running, workdir: Path, head: bytes | None, words: str
) -> None:
    """The sandbox's message is printed on one line."""
    if head is not None:
        (workdir / "song.wav").write_bytes(head)

    done = proofsweep("sandbox", "issue", "song.wav", "--operator", running.operator_url)

    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["issue", "samples"])
def test_a_sandbox_that_does_not_run_is_reported(proofsweep: Command, bare: Path, command: str) -> None:
    """The message names the command that starts one."""
    arguments = [bare] if command == "issue" else ["music"]

    done = proofsweep("sandbox", command, *arguments, "--operator", "http://127.0.0.1:1")

    assert done.returncode == 2
    assert "start one with `proofsweep sandbox`" in done.stderr


def test_an_operator_url_of_another_server_is_reported(proofsweep: Command, bare: Path, other_site: str) -> None:
    """A web site is no operator port."""
    done = proofsweep("sandbox", "issue", bare, "--operator", other_site)

    assert done.returncode == 2
    assert "is no sandbox's operator port" in done.stderr


def test_a_sample_catalog_is_written(proofsweep: Command, running: sandbox.Running, workdir: Path) -> None:
    """The catalog can be planned at once."""
    done = proofsweep("sandbox", "samples", "music", "--files", "6", "--operator", running.operator_url)

    assert (done.returncode, done.stdout) == (0, "music: 6 audio files\n")
    assert proofsweep("plan", workdir / "music").returncode == 0


def test_a_manifest_of_the_samples_can_be_planned(
    proofsweep: Command, running: sandbox.Running, workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its locations are relative to its own folder; an existing one stays, and then nothing is written."""
    options = ("--files", "6", "--operator", running.operator_url)
    (workdir / "lists").mkdir()

    done = proofsweep("sandbox", "samples", "music", "--manifest", "lists/all.csv", *options)
    refused = proofsweep("sandbox", "samples", "more", "--manifest", "lists/all.csv", *options)

    listed = (workdir / "lists" / "all.csv").read_text(encoding="utf-8")
    assert (done.returncode, listed.count("\n")) == (0, 7)
    assert listed.startswith("audio,sidecar,supplier,release\n../music/")
    monkeypatch.setenv("PROOFSWEEP_CATALOG__ROOT", "anywhere")
    assert "6 rows" in proofsweep("plan", "lists/all.csv").stdout
    assert (refused.returncode, (workdir / "more").exists()) == (2, False)
    assert (workdir / "lists" / "all.csv").read_text(encoding="utf-8") == listed


def test_samples_are_written_only_to_an_empty_folder(
    proofsweep: Command, running: sandbox.Running, workdir: Path
) -> None:
    """A folder that is not empty does not change."""
    (workdir / "notes.txt").write_text("mine")

    done = proofsweep("sandbox", "samples", ".", "--operator", running.operator_url)

    assert done.returncode == 2
    assert "is not empty" in done.stderr
    assert [path.name for path in workdir.iterdir()] == ["notes.txt"]
