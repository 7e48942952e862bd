"""The composition as a person runs it: `make up` in a checkout of its own, then plain `docker compose`."""

import base64
import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa

import proofsweep_sandbox as sandbox

from ..deployment.native_compose import ROOT
from ..worlds.command_world import rows_in
from ..worlds.waiting import wait_for

# Chosen: longer than an image's build without any cache on a machine with other work; a command that hangs is ended.
COMMAND_SECONDS = 1200


def checkout(folder: Path) -> None:
    """Copy what git knows of this checkout: no secret, no `.env` and no environment comes along."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout
    for name in filter(None, names.decode().split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)


@dataclass
class RunningComposition:
    """The containers of one checkout."""

    folder: Path
    operator: sandbox.Operator

    def run(self, *command: str) -> str:
        ended = subprocess.run(
            command, cwd=self.folder, check=False, capture_output=True, text=True, timeout=COMMAND_SECONDS
        )
        assert ended.returncode == 0, f"{' '.join(command)}\n{ended.stdout[-3000:]}{ended.stderr[-6000:]}"
        return ended.stdout

    def compose(self, *arguments: str) -> str:
        return self.run("docker", "compose", *arguments)

    def secret(self, name: str) -> str:
        return (self.folder / "deploy" / "secrets" / name).read_text().strip()

    @cached_property
    def api(self) -> httpx.Client:
        login = base64.b64encode(self.secret("prefect-login").encode()).decode()
        headers = {"Authorization": f"Basic {login}"}
        return httpx.Client(base_url="http://127.0.0.1:4200/api", headers=headers, trust_env=False, timeout=30)

    def flow_runs(self, deployment: str, *states: str) -> list[dict[str, Any]]:
        """Return the flow runs of a deployment that are in one of some states, the newest first."""
        wanted = {
            "deployments": {"name": {"any_": [deployment]}},
            "flow_runs": {"state": {"type": {"any_": list(states)}}},
            "sort": "START_TIME_DESC",
        }
        try:
            answer = self.api.post("/flow_runs/filter", json=wanted).raise_for_status()
        except httpx.HTTPError:  # the server is away, as a test wants it
            return []
        found: list[dict[str, Any]] = answer.json()
        return found

    def ended(self, flow_run: str) -> dict[str, Any]:
        """Wait until a flow run has ended; give what the server says of it."""
        found: dict[str, Any] = {}

        def has_ended() -> bool:
            try:
                found.update(self.api.get(f"/flow_runs/{flow_run}").raise_for_status().json())
            except httpx.HTTPError:
                return False
            return found["state_type"] in {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}

        self.wait_for(has_ended)
        return found

    @cached_property
    def results(self) -> Path:
        asked = ("docker", "volume", "inspect", "--format", "{{.Mountpoint}}", "proofsweep_sample-results")
        return Path(self.run(*asked).strip())

    def verdicts(self) -> list[dict[str, Any]]:
        return rows_in(self.results)

    def journalled(self) -> set[str]:
        """Return the request IDs of the verify calls whose rows a kill cannot lose any more."""
        segments = self.results.glob("_runs/*/journal/*/verdicts-*")
        tables = [pa.ipc.open_stream(each.read_bytes()).read_all() for each in segments]
        return {str(request) for table in tables for request in table["verify_request_id"].to_pylist()}

    def files_in(self, name: str) -> set[str]:
        """Return the files below a folder of the worker, but not those of the program."""
        printed = self.compose("exec", "--no-TTY", "worker", "find", name, "-type", "f", "-not", "-path", "*/.*")
        return {line.removeprefix(f"{name}/") for line in printed.splitlines()}

    def containers(self) -> dict[str, dict[str, Any]]:
        """Return what Compose says of each service's container, also of one that has ended."""
        lines = self.compose("ps", "--all", "--format", "json").splitlines()
        return {each["Service"]: each for each in map(json.loads, lines)}

    def is_healthy(self, *services: str) -> bool:
        found = self.containers()
        return all(found.get(service, {}).get("Health") == "healthy" for service in services)

    def put_catalog(self, samples: Path) -> None:
        """Put other files into the folder of the nightly deployment."""
        mounted = f"{samples}:/from:ro"
        command = "rm -rf catalog/* && cp -r /from/. catalog"
        self.compose("run", "--rm", "--no-deps", "--no-TTY", "--volume", mounted, "samples", "sh", "-euc", command)

    def verified(self, after: int) -> list[str]:
        """Return the request IDs of the verify calls that the sandbox has answered since one of its exchanges."""
        try:
            exchanges = self.operator.exchanges(after)
        except (httpx.HTTPError, OSError):  # the sandbox is away, as a test wants it
            return []
        return [it["request_id"] for it in exchanges if (it["call"], it["status"]) == ("verify", 200)]

    def wait_for(self, holds: Callable[[], object]) -> None:
        wait_for(holds, lambda: self.compose("ps", "--all") + self.compose("logs", "--tail", "40", "worker"))
