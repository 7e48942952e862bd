"""One process that watches a folder of a supplier for long: each pass verifies, and nothing that lies there is run.

It makes four passes with files here, and `make soak` an hour of them. Its Prefect server is killed during one, and
between two.
"""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from uuid import UUID

import pytest

from proofsweep_cli.prefect_database import cached_tables, copy_tables

from ..servers.alert_receivers import Webhook
from ..servers.foreign_service import Answer, Change
from ..servers.free_ports import free_ports
from ..worlds.command_world import export_settings, wav_of
from ..worlds.foreign_world import ForeignWorld

SECONDS = float(os.environ.get("PROOFSWEEP_SOAK_WATCH_SECONDS", "0"))
PASSES = 4
EXECUTED = "executed.txt"

# A module of each process that takes part: of the command, of its Prefect server, of both.
PROGRAMS = ("uvicorn", "sqlite3", "yaml", "prefect_database", "multiprocessing")

LOGGING = f"""
version: 1
disable_existing_loggers: false
handlers:
  planted: {{class: logging.FileHandler, filename: {EXECUTED}}}
root: {{handlers: [planted]}}
"""


@pytest.fixture
def folder(bare_world: ForeignWorld, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty watched folder, from which files are moved; they settle at once and wait for no sidecar."""
    folder = bare_world.folder / "delivered"
    folder.mkdir()
    accepted = str(bare_world.folder / "accepted")
    export_settings(monkeypatch, {"INGEST__SETTLE_SECONDS": "0", "INGEST__PAIR_SECONDS": "0"})
    export_settings(monkeypatch, {"INGEST__ACCEPTED": accepted, "PACE__FIRST_RATE": "400"})
    return folder


def plant(folder: Path) -> None:
    """Put what Python would import and what Prefect would read into a folder; each would leave a trace if it were."""
    for name in PROGRAMS:
        trace = f"open({str(folder.parent / EXECUTED)!r}, 'a').write('{name} ')\n"
        (folder / f"{name}.py").write_text(f"{trace}raise ImportError('planted')\n")
    (folder / ".env").write_bytes("LABEL=München\nPREFECT_API_URL=http://127.0.0.1:9/api\n".encode("latin-1"))
    (folder / "logging.yml").write_text(LOGGING)
    (folder / "prefect.toml").write_text(f'[logging]\nconfig_path = "{folder / "logging.yml"}"\n')
    (folder / "pyproject.toml").write_text('[tool.prefect.api]\nurl = "http://127.0.0.1:9/api"\n')


@contextmanager
def watching(world: ForeignWorld, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Watch a folder that is also the working folder, in a process that is started as the program's script is."""
    command = [sys.executable, "-P", "-m", "proofsweep_cli", "ingest", ".", "--watch", "--every", "1"]
    with (world.folder / "log-watch.txt").open("wb") as log:
        process = subprocess.Popen([*command], cwd=folder, stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def wait_for_rows(world: ForeignWorld, process: subprocess.Popen[bytes], count: int) -> None:
    """Wait until so many files were taken by a process that goes on."""
    world.wait_for(lambda: len(world.table("ingest")) == count or process.poll() is not None)
    assert process.poll() is None, world.logs


def remember_old_run(home: Path) -> None:
    """Make the database of Prefect's home, with a flow run that ended long ago."""
    tables = cached_tables()
    assert tables is not None
    copy_tables(tables, home / "prefect.db")
    flow, own = str(UUID(int=1)), str(UUID(int=2))
    flow_run = {"id": own, "flow_id": flow, "name": "old", "run_count": 1, "auto_scheduled": 0}
    flow_run |= {"parameters": "{}", "context": "{}", "empirical_policy": "{}", "tags": "[]"}
    flow_run |= {"state_type": "COMPLETED", "state_name": "Completed"}
    flow_run |= {"end_time": "2026-01-01 00:00:00.000000", "total_run_time": "1970-01-01 00:00:00.000000"}
    with closing(sqlite3.connect(home / "prefect.db")) as tables, tables:
        tables.execute("INSERT INTO flow (id, name, tags) VALUES (?, 'old', '[]')", [flow])
        columns, places = ", ".join(flow_run), ", ".join("?" * len(flow_run))
        tables.execute(f"INSERT INTO flow_run ({columns}) VALUES ({places})", list(flow_run.values()))  # noqa: S608


def names_of_runs(home: Path) -> set[str]:
    with closing(sqlite3.connect(home / "prefect.db")) as tables:
        return {name for (name,) in tables.execute("SELECT name FROM flow_run").fetchall()}


def server_of(process: int) -> int:
    """Return the number of the process of a command's Prefect server."""
    children = [path.read_text().split() for path in Path(f"/proc/{process}/task").glob("*/children")]
    (server,) = [
        child
        for several in children
        for child in several
        if b"server_process" in Path(f"/proc/{child}/cmdline").read_bytes()
    ]
    return int(server)


def kill_server_of(process: subprocess.Popen[bytes]) -> Change:
    """Return what kills a command's server at the first verify call from now on, in the middle of a run."""
    killed: list[int] = []

    def change(_number: int, usual: Answer) -> Answer:
        if not killed:
            killed.append(server_of(process.pid))
            os.kill(killed[0], signal.SIGKILL)
        return usual

    return change


@pytest.mark.timeout(240 + SECONDS)
def test_each_pass_of_one_process_verifies_what_came_and_runs_nothing_of_it(
    bare_world: ForeignWorld, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own Prefect server is started again when it was killed, also during a run, which ends as if nothing was.

    A team's Prefect settings do not reach that server.

    Nothing in the folder is run or configures anything, though it is the working folder too, and PYTHONPATH has an
    empty entry. Prefect's home may have any name, and forgets what is old.
    """
    world, until, count = bare_world, time.monotonic() + SECONDS, 0
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    home = world.folder / "is it? 100% #1"
    monkeypatch.setenv("PREFECT_HOME", str(home))
    remember_old_run(home)
    monkeypatch.setenv("PYTHONPATH", f"{os.environ['PYTHONPATH']}{os.pathsep}")
    monkeypatch.setenv("PREFECT_SERVER_API_AUTH_STRING", "admin:of-a-team")
    monkeypatch.setenv("PREFECT_API_DATABASE_CONNECTION_URL", f"sqlite+aiosqlite:///{world.folder}/of-a-team.db")
    plant(folder)

    with watching(world, folder) as process:
        while count < PASSES or time.monotonic() < until:
            count += 1
            if count % PASSES == 1:
                world.service.changes["verify"] = kill_server_of(process)
            (folder / f"{count}.wav").write_bytes(wav_of(count.to_bytes(4, "big") * 400))
            wait_for_rows(world, process, count)
            if count % PASSES == 2:
                os.kill(server_of(process.pid), signal.SIGKILL)

    assert process.returncode == 0, world.logs
    assert "is lost" not in world.logs
    assert [row["outcome"] for row in world.table("ingest")] == ["accepted"] * count
    assert not (world.folder / EXECUTED).exists()
    assert not (folder / EXECUTED).exists()
    assert not (world.folder / "of-a-team.db").exists()
    assert "old" not in names_of_runs(home)
    assert len(names_of_runs(home)) == count


def test_a_watch_goes_on_while_its_prefect_server_is_away(
    bare_world: ForeignWorld, folder: Path, hook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each pass says so in one line, without the password in the address; one alert is sent, and no run is planned."""
    (port,) = free_ports(1)
    monkeypatch.setenv("PREFECT_API_URL", f"http://admin:s3cret-w0rd@127.0.0.1:{port}/api?token=s3cret")
    (folder / "1.wav").write_bytes(wav_of(bytes(800)))
    said = f"proofsweep: No Prefect server answers at http://127.0.0.1:{port}/api; "
    process = bare_world.start("ingest", str(folder), "--watch", "--every", "1")
    try:
        bare_world.wait_for(lambda: bare_world.logs.count(said) > 1 or process.poll() is not None)
    finally:
        process.send_signal(signal.SIGTERM)
    code = process.wait(60)

    assert code == 6, bare_world.logs
    assert bare_world.logs.count(said) > 1
    assert "s3cret" not in bare_world.logs
    assert len(hook.posts) == 1
    assert bare_world.runs == []
