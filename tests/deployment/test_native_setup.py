"""The setup without containers: the commands of docs/deployment.md run as they stand, in folders of the test."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

import proofsweep_sandbox as sandbox

from ..servers.free_ports import free_ports
from ..worlds.command_world import rows_in
from ..worlds.waiting import wait_for
from .native_compose import ROOT
from .postgres import program, serving_as_packaged

BIN = Path(sys.executable).parent
UNITS = sorted((ROOT / "deploy" / "systemd").glob("*.service"))

# What stands for the machine's own: there is no systemd, no other user, and the packages are installed already.
PRELUDE = """
set -eu
useradd() { :; }
runuser() { shift 3; "$@"; }
systemctl() { [ "$1" = daemon-reload ] || python "$START_UNIT" "$UNITS/$3.service" "$UNITS/$3.txt" >>"$UNITS/pids"; }
"""
INSTALLING = re.compile(r"python3 -m venv|/pip install|apt-get install")


def commands_of_page() -> list[str]:
    """Return the commands of the section, in their order."""
    section = (ROOT / "docs" / "deployment.md").read_text().split("\n## Run without containers\n")[1].split("\n## ")[0]
    blocks = re.findall(r"^```console\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    return [line.removeprefix("# ") for block in blocks for line in block.splitlines()]


def own_places(text: str, folder: Path, port: str) -> str:
    """Replace the machine's folders and the server's port."""
    places = {
        "/usr/local/lib/proofsweep/venv/bin": BIN,
        "/usr/local/lib/proofsweep/src": ROOT,
        "/var/lib/proofsweep": folder / "var",
        "/etc/proofsweep": folder / "etc",
        "/etc/systemd/system": folder / "units",
        "/srv/music": folder / "music",
        "/srv/deliveries": folder / "deliveries",
        "/var/run/postgresql": folder / "postgresql",
        "/usr/local/lib/proofsweep/": f"{folder}/",
        "/dev/stdin": folder / "key",
        "-g proofsweep ": "",
        "4200": port,
    }
    return re.sub("|".join(map(re.escape, places)), lambda found: str(places[found[0]]), text)


@pytest.fixture
def postgresql(tmp_path: Path) -> Iterator[Path]:
    """The machine's PostgreSQL: the folder with its Unix socket."""
    with serving_as_packaged() as socket:
        (tmp_path / "postgresql").symlink_to(socket)
        yield tmp_path / "postgresql"


@pytest.fixture
def machine(tmp_path: Path, running: sandbox.Running, postgresql: Path) -> Iterator[Path]:  # noqa: ARG001 - it ends last
    """A folder that holds what the machine has before the first command; the units are stopped at the end."""
    for name in ("var", "units", "music", "deliveries", "deploy/systemd"):
        (tmp_path / name).mkdir(parents=True)
    sandbox.write_catalog(tmp_path / "music", running.operator, files=12)
    (tmp_path / "key").write_text(running.operator.add_tenant(tmp_path.name).api_key)
    yield tmp_path
    pids = tmp_path / "units" / "pids"
    for pid in reversed(pids.read_text().split() if pids.exists() else []):
        with suppress(ProcessLookupError):
            os.killpg(int(pid), signal.SIGTERM)
        wait_for(lambda pid=pid: not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text())  # type: ignore[misc]


@pytest.mark.skipif("PROOFSWEEP_SOAK_KILLS" not in os.environ, reason="another whole system: make soak")
@pytest.mark.timeout(600)  # a server that makes its database, on a machine that other tests use too
def test_the_page_leads_to_verdicts(machine: Path, running: sandbox.Running, postgresql: Path) -> None:
    """Command by command: database, server, registration, worker, a nightly run that is watched, the list of runs."""
    port = str(free_ports(1)[0])
    deploy = machine / "deploy"
    for name in ("make-database", "systemd/worker.env", *(f"systemd/{unit.name}" for unit in UNITS)):
        (deploy / name).write_text(own_places((ROOT / "deploy" / name).read_text(), machine, port))
    (deploy / "make-database").chmod(0o755)
    settings = (deploy / "systemd" / "worker.env").read_text() + "\nPREFECT_WORKER_QUERY_SECONDS=1\n"
    settings = settings.replace("https://partner.example/v1", running.base_url).replace("=production", "=sandbox")
    settings = settings.replace("#PROOFSWEEP_SERVICE__SIDECAR_FIELD=", "PROOFSWEEP_SERVICE__SIDECAR_FIELD=sidecar")
    (deploy / "systemd" / "worker.env").write_text(settings)
    shutil.copy(ROOT / "prefect.yaml", machine)
    commands = [own_places(line, machine, port) for line in commands_of_page() if not INSTALLING.search(line)]
    edited = [
        line.replace(f"cd {ROOT}", f"cd {machine}").replace("python3 deploy/", f"python3 {ROOT}/deploy/")
        for line in commands
    ]

    done = subprocess.run(
        ["bash", "-c", PRELUDE + "\n".join(edited)],
        check=False,
        capture_output=True,
        text=True,
        env={
            "PATH": f"{BIN}:{os.environ['PATH']}",
            "HOME": str(machine),
            "START_UNIT": str(Path(__file__).with_name("start_unit.py")),
            "UNITS": str(machine / "units"),
            "PGUSER": "postgres",
            "PGHOST": str(postgresql),
        },
    )

    logs = "".join(log.read_text(errors="replace")[-3000:] for log in (machine / "units").glob("*.txt"))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:] + logs
    assert len(rows_in(machine / "var" / "results")) == 12
    assert (machine / "var" / "prefect" / "concurrency_leases").is_dir()
    query = (  # by day, a scheduled pass of ingest may have ended meanwhile
        "SELECT run.state_type FROM flow_run run JOIN flow ON flow.id = run.flow_id "
        "WHERE end_time IS NOT NULL AND flow.name = 'verify-catalog'"
    )
    psql = [program("psql"), "--host", str(postgresql), "--no-psqlrc", "--tuples-only", "-Uproofsweep", "-dprefect"]
    asked = subprocess.run([*psql, "--command", query], check=True, capture_output=True, text=True)
    assert asked.stdout.split() == ["COMPLETED"]


def test_no_address_is_written_of_a_database_that_was_not_made(tmp_path: Path) -> None:
    """PostgreSQL does not run: the script says so, and can be run again."""
    program("psql")

    command = [ROOT / "deploy" / "make-database", tmp_path / "server.env"]
    environ = os.environ | {"PGUSER": "postgres", "PGHOST": str(tmp_path)}
    made = subprocess.run(command, check=False, capture_output=True, text=True, env=environ)

    assert made.returncode == 2
    assert made.stderr.endswith(
        "make-database: PostgreSQL did not do it; see above, and whether it is installed and runs\n"
    )
    assert not (tmp_path / "server.env").exists()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_reads_the_units(tmp_path: Path) -> None:
    """No unknown setting and no program that is not there."""
    for unit in UNITS:
        text = unit.read_text().replace("/usr/local/lib/proofsweep/venv/bin", str(BIN))
        (tmp_path / unit.name).write_text(text.replace("/usr/local/lib/proofsweep/src", str(ROOT)))
    (tmp_path / "docker.service").write_text("[Service]\nExecStart=/bin/true\n")  # of the engine's package

    read = subprocess.run(
        ["systemd-analyze", "verify", *tmp_path.glob("*.service")], check=False, capture_output=True, text=True
    )

    assert (read.returncode, read.stderr) == (0, "")


def test_the_units_and_the_compose_file_agree() -> None:
    """What the server needs is set in both, and the worker has the same command; systemd signals its first process."""
    composed = (ROOT / "docker-compose.yml").read_text()
    worker = (ROOT / "deploy" / "systemd" / "proofsweep-worker.service").read_text()
    (started,) = re.findall(r"^ExecStart=(.*)$", worker, re.MULTILINE)

    command = yaml.safe_load(composed)["services"]["worker"]["command"]
    assert [word.rpartition("/")[2] for word in started.split()] + ["--with-healthcheck"] == command
    assert "\nKillMode=mixed\n" in worker
    for line in UNITS[0].read_text().splitlines():
        if line.startswith("Environment=PREFECT_SERVER_") and "ANALYTICS" not in line:
            name, _, value = line.removeprefix("Environment=").partition("=")
            assert re.search(rf'{name}: "?{re.escape(value)}', composed)


@pytest.mark.parametrize("file", ["deploy/systemd/proofsweep-worker.service", "docker-compose.yml"])
def test_a_flow_run_may_miss_a_heartbeat_and_is_taken_up_within_three_minutes(file: str) -> None:
    """What the workers are told fits what the automations wait for; a worker asks every 13 s, and then starts it."""
    silent, gone, *_ = yaml.safe_load((ROOT / "deploy" / "automations.yaml").read_text())["automations"]
    found = re.search(r"PREFECT_FLOWS_HEARTBEAT_FREQUENCY(?:=|: )\"?(\d+)", (ROOT / file).read_text())

    assert found is not None
    waits = [each["trigger"]["within"] for each in (silent, gone)]
    assert waits[0] > 2 * int(found[1])
    assert sum(waits) <= 180 - 60
