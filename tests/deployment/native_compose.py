"""The Compose files without a container engine: each service's own command, environment and health check run here.

A mount of a container becomes a folder, a service's name the loopback address, and each port a free one.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from ..servers.free_ports import free_ports

ROOT = Path(__file__).parents[2]
PORTS = ("4200", "5432", "8080", "8725", "8726", "8727")
FOLDERS = ("/run/secrets", "/var/lib/prefect", "/var/lib/proofsweep", "/var/lib/sandbox", "/tmp")  # noqa: S108 - a container's
VARIABLE = re.compile(r"\$\$|\$\{(\w+)(?::-([^}]*)|:\?[^}]*)?\}")


REAL = ("docker-compose.yml",)
TRIAL = (*REAL, "docker-compose.sandbox.yml")
S3 = (*REAL, "docker-compose.s3.yml")


def read_compose(environ: Mapping[str, str], files: Iterable[str] = TRIAL) -> dict[str, Any]:
    """Read files as Compose does: variables are replaced, `$$` is a dollar sign, and a later file goes first."""

    def filled(value: object) -> object:
        match value:
            case dict():
                return {name: filled(member) for name, member in value.items()}
            case list():
                return [filled(member) for member in value]
            case str():
                return VARIABLE.sub(lambda it: (environ.get(it[1]) or it[2] or "") if it[1] else "$", value)
        return value

    whole: dict[str, Any] = {}
    for name in files:
        read = filled(yaml.safe_load((ROOT / name).read_text()))
        assert isinstance(read, dict)
        whole = merged(whole, read)
    return whole


def merged(before: Any, after: Any) -> Any:  # noqa: ANN401 - YAML
    """Merge two files as Compose does: mappings by their names, volumes by their place in the container."""
    match before, after:
        case dict(), dict():
            return before | {name: merged(before[name], it) if name in before else it for name, it in after.items()}
        case list(), list():
            return list({each.split(":", 2)[1] if ":" in each else each: each for each in [*before, *after]}.values())
    return after


class Composition:
    """The services of the file, with their files in one folder; `environ` has the variables of `.env`."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self.folder = folder
        read = read_compose(environ)
        self.services: dict[str, dict[str, Any]] = read["services"]
        self.secrets = {name: Path(it["file"]).name for name, it in read["secrets"].items()}
        self.ports = dict(zip(PORTS, map(str, free_ports(len(PORTS))), strict=True))
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        hosts = "|".join(self.services)
        ports = "|".join(PORTS)
        self._foreign = re.compile(
            rf"(?<![\w./])(?P<folder>{'|'.join(FOLDERS)})\b|(?<=//)(?:{hosts})(?=:)|0\.0\.0\.0|\b(?P<port>{ports})\b"
        )
        for path in FOLDERS:
            self.place(path).mkdir(parents=True)

    def place(self, path: str) -> Path:
        """Return the path here that takes the place of a path in a container."""
        return self.folder / path.lstrip("/")

    def adapted(self, text: str) -> str:
        """Replace a container's folders, addresses and ports in a text of the file."""

        def ours(found: re.Match[str]) -> str:
            if found["folder"]:
                return str(self.place(found["folder"]))
            return self.ports[found["port"]] if found["port"] else "127.0.0.1"

        return self._foreign.sub(ours, text)

    def environment(self, name: str) -> dict[str, str]:
        """Return a service's whole environment: the image's, and then the file's."""
        home = self.place("/tmp") / name  # noqa: S108
        home.mkdir(exist_ok=True)
        image = {
            "PATH": f"{Path(sys.executable).parent}:{ROOT / 'deploy'}:{os.environ['PATH']}",
            "HOME": str(home),
            "PREFECT_HOME": str(home / "prefect"),
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "DO_NOT_TRACK": "1",
            "PREFECT_WORKER_QUERY_SECONDS": "1",  # a worker of a test need not wait ten seconds for its flow run
        }
        own = {
            variable: "127.0.0.1" if variable.endswith("_HOST") and value in self.services else self.adapted(str(value))
            for variable, value in self.services[name].get("environment", {}).items()
            if value is not None  # passed on only if `.env` sets it
        }
        return image | own

    def start(self, name: str) -> subprocess.Popen[bytes]:
        """Start a service with its secrets and files."""
        service = self.services[name]
        self._give_secrets(service)
        self._give_files(service)
        command = [*service.get("entrypoint", ["with-secrets"]), *service["command"]]
        with self._log(name).open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [self.adapted(part) for part in command],
                cwd=self.place("/var/lib/proofsweep"),
                env=self.environment(name),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return self.processes[name]

    def run(self, name: str) -> int:
        """Run a service that ends by itself; give its exit code."""
        return self.start(name).wait(120)

    def is_healthy(self, name: str) -> bool:
        kind, *test = self.services[name]["healthcheck"]["test"]
        assert kind == "CMD"
        command = [self.adapted(part) for part in test]
        return not subprocess.run(command, env=self.environment(name), check=False, capture_output=True).returncode

    def stop(self, name: str) -> None:
        """End a service as a container engine does: SIGTERM first, SIGKILL if that does not help."""
        process = self.processes.pop(name)
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def output(self, name: str) -> str:
        return self._log(name).read_text(errors="replace")

    def _log(self, name: str) -> Path:
        return self.folder / f"{name}.txt"

    def _give_secrets(self, service: Mapping[str, Any]) -> None:
        """Copy a service's secrets to where it reads them."""
        for secret in service.get("secrets", []):
            it = {"source": secret, "target": f"/run/secrets/{secret}"} if isinstance(secret, str) else secret
            shutil.copy(self.folder / "secrets" / self.secrets[it["source"]], self.place(it["target"]))

    def _give_files(self, service: Mapping[str, Any]) -> None:
        """Copy the files of the checkout that a service mounts, and make its folders."""
        for volume in service.get("volumes", []):
            source, target = volume.split(":")[:2]
            if source.startswith("./"):
                shutil.copy(ROOT / source, self.place(target))
            else:
                self.place(target).mkdir(parents=True, exist_ok=True)
