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

import pyarrow.dataset
import pytest

import proofsweep_sandbox as sandbox

from ..servers.free_ports import free_ports
from ..worlds.waiting import wait_for
from .native_compose import ROOT

BIN = Path(sys.executable).parent
UNITS = sorted((ROOT / "deploy" / "systemd").glob("*.service"))

# What stands for the machine's own: there is no systemd, no other user, and the packages are installed already.
PRELUDE = """
set -eu
useradd() { :; }
runuser() { shift 3; "$@"; }
systemctl() { [ "$1" = daemon-reload ] || python "$START_UNIT" "$UNITS/$3.service" "$UNITS/$3.txt" >>"$UNITS/pids"; }
"""
INSTALLING = re.compile(r"python3 -m venv|/pip install")


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
        "/tmp/": f"{folder}/",  # noqa: S108 - of the page
        "/dev/stdin": folder / "key",
        "-g proofsweep ": "",
        "4200": port,
    }
    return re.sub("|".join(map(re.escape, places)), lambda found: str(places[found[0]]), text)


@pytest.fixture
def machine(tmp_path: Path, prefect_tables: Path, running: sandbox.Running) -> Iterator[Path]:
    """A folder that holds what the machine has before the first command; the units are stopped at the end.

    Prefect's database has its tables already, since other tests show that a server makes them.
    """
    for name in ("var", "units", "music", "deliveries", "deploy/systemd"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "var" / "prefect").mkdir()
    shutil.copy(prefect_tables, tmp_path / "var" / "prefect")
    sandbox.write_catalog(tmp_path / "music", running.operator, files=12)
    (tmp_path / "key").write_text(running.operator.add_tenant(tmp_path.name).api_key)
    yield tmp_path
    pids = tmp_path / "units" / "pids"
    for pid in reversed(pids.read_text().split() if pids.exists() else []):
        with suppress(ProcessLookupError):
            os.killpg(int(pid), signal.SIGTERM)
        wait_for(lambda pid=pid: not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text())  # type: ignore[misc]


@pytest.mark.timeout(600)  # a server that makes its database, on a machine that other tests use too
def test_the_page_leads_to_verdicts(machine: Path, running: sandbox.Running) -> None:
    """Copied command by command: server, registration, worker, a nightly run that is watched, the run in the list."""
    port = str(free_ports(1)[0])
    for unit in UNITS:
        (machine / "deploy" / "systemd" / unit.name).write_text(own_places(unit.read_text(), machine, port))
    settings = own_places((ROOT / "deploy" / "systemd" / "worker.env").read_text(), machine, port)
    settings = settings.replace("https://partner.example/v1", running.base_url).replace("=production", "=sandbox")
    settings = settings.replace("#PROOFSWEEP_SERVICE__SIDECAR_FIELD=", "PROOFSWEEP_SERVICE__SIDECAR_FIELD=sidecar")
    settings += "\nPREFECT_WORKER_QUERY_SECONDS=1\n"
    (machine / "deploy" / "systemd" / "worker.env").write_text(settings)
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
        },
    )

    logs = "".join(log.read_text(errors="replace")[-3000:] for log in (machine / "units").glob("*.txt"))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:] + logs
    verdicts = pyarrow.dataset.dataset(machine / "var" / "results" / "verdicts", format="parquet").to_table()
    assert verdicts.num_rows == 12
    assert (machine / "var" / "prefect" / "concurrency_leases").is_dir()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_reads_the_units(tmp_path: Path) -> None:
    """No unknown setting and no program that is not there."""
    for unit in UNITS:
        (tmp_path / unit.name).write_text(unit.read_text().replace("/usr/local/lib/proofsweep/venv/bin", str(BIN)))

    read = subprocess.run(
        ["systemd-analyze", "verify", *tmp_path.glob("*.service")], check=False, capture_output=True, text=True
    )

    assert (read.returncode, read.stderr) == (0, "")


def test_the_units_and_the_compose_file_agree() -> None:
    """What the server needs is set in both."""
    composed = (ROOT / "docker-compose.yml").read_text()

    for line in UNITS[0].read_text().splitlines():
        if line.startswith("Environment=PREFECT_SERVER_") and "ANALYTICS" not in line:
            name, _, value = line.removeprefix("Environment=").partition("=")
            assert re.search(rf'{name}: "?{re.escape(value)}', composed)
