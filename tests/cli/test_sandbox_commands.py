"""`proofsweep sandbox`: it serves in its own process, and issues proofs."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import proofsweep_sandbox as sandbox

from .conftest import Command

FREE = ("--port", "0")


@pytest.fixture
def bare(catalog: Path) -> Path:
    return next(catalog.rglob("*Intro.wav"))


def test_the_sandbox_prints_its_address_and_the_next_commands(workdir: Path) -> None:
    """It prints the settings that lead to it, and Ctrl-C ends it with exit code 0."""
    env = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-m", "proofsweep_cli", "sandbox", "--home", "my home", *FREE]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env) as serving:
        assert serving.stdout is not None
        introduction = [serving.stdout.readline() for _ in range(5)]
        serving.send_signal(signal.SIGINT)
        last_lines, _ = serving.communicate()

    assert introduction[0].startswith("The sandbox serves at http://127.0.0.1:")
    assert "PROOFSWEEP_SERVICE__API_KEY_FILE='my home/key' proofsweep verify music" in introduction[3]
    port = urlsplit(introduction[0].split()[-1]).port
    assert port is not None
    assert f"--operator http://127.0.0.1:{port + 2}" in introduction[2]
    assert "The sandbox has ended" in last_lines
    assert serving.returncode == 0
    assert (workdir / "my home" / "key").is_file()


def test_a_port_that_is_taken_is_named(proofsweep: Command) -> None:
    """Another sandbox has it; one line is enough to start a second one."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = proofsweep("sandbox", "--port", str(port))

    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert f"The port {port} cannot be used (Address already in use)" in done.stderr
    assert "--port" in proofsweep("sandbox", "--port", "99999").stderr


def test_your_own_wav_gets_a_credential_and_your_own_mp3_a_sidecar(
    proofsweep: Command, running: sandbox.Running, workdir: Path, bare: Path, catalog: Path
) -> None:
    """The credentialed copy is written to `issued`, the sidecar beside its audio, where a scan finds it."""
    audio = workdir / "song.mp3"
    audio.write_bytes(next(catalog.rglob("*.mp3")).read_bytes())

    wav = proofsweep("sandbox", "issue", bare, "--operator", running.operator_url)
    mp3 = proofsweep("sandbox", "issue", "song.mp3", "--legacy", "--operator", running.operator_url)

    assert (wav.returncode, mp3.returncode) == (0, 0)
    assert wav.stdout.startswith(f"issued/{bare.name}  prf_")
    assert proofsweep("check", workdir / "issued" / bare.name).returncode == 0
    assert proofsweep("check", audio, workdir / "song.mp3.sidecar").returncode == 0


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
    assert done.stdout.startswith("music: 6 audio files")
    assert listed.startswith("audio,sidecar,supplier,release\n../music/")
    monkeypatch.setenv("PROOFSWEEP_CATALOG__ROOT", "anywhere")
    assert "6 rows" in proofsweep("plan", "lists/all.csv").stdout
    assert (refused.returncode, (workdir / "more").exists()) == (2, False)
    assert (workdir / "lists" / "all.csv").read_text(encoding="utf-8") == listed


@pytest.mark.parametrize(
    ("arguments", "operator", "words"),
    [
        (["--home", "bare.wav", *FREE], "", "bare.wav cannot be read or written (File exists)"),
        (["issue", "bare.wav"], "sandbox", "is not overwritten"),
        (["issue", "song.wav"], "sandbox", "not a whole WAV"),
        (["issue", "nowhere.wav"], "sandbox", "cannot be read"),
        (["issue", "song.wav"], "nobody", "start one with `proofsweep sandbox`"),
        (["samples", "music"], "nobody", "start one with `proofsweep sandbox`"),
        (["issue", "song.wav"], "site", "is no sandbox's operator port"),
        (["samples", "."], "sandbox", "is not empty"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    proofsweep: Command,
    running: sandbox.Running,
    other_site: str,
    workdir: Path,
    bare: Path,
    *,
    arguments: list[str],
    operator: str,
    words: str,
) -> None:
    """Nothing that is there is written over."""
    (workdir / "bare.wav").write_bytes(bare.read_bytes())
    (workdir / "song.wav").write_bytes(b"ID3\x03")
    (workdir / "issued").mkdir()
    (workdir / "issued" / "bare.wav").write_text("mine")
    before = sorted(workdir.rglob("*"))
    url = {"sandbox": running.operator_url, "nobody": "http://127.0.0.1:1", "site": other_site}.get(operator)

    done = proofsweep("sandbox", *arguments, *(["--operator", url] if url else []))

    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert words in done.stderr
    assert sorted(workdir.rglob("*")) == before
    assert (workdir / "issued" / "bare.wav").read_text() == "mine"
