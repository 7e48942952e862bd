"""Three partners, their catalogs and deliveries, two workers on the composed system, and what may happen to them."""

import json
import os
import random
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import proofsweep_sandbox as sandbox
from proofsweep_sandbox.samples.sounds import wav

from ..servers.alert_receivers import Webhook
from ..servers.free_ports import free_ports
from ..worlds.command_world import rows_in
from .composed_system import ComposedSystem

WORKERS = ("worker-a", "worker-b")
IN_FLIGHT = 4
"""Files on their way in one flow run at most: `pace.workers` of the config."""
FLOW_RUNS = 2
"""Of one worker at once: `--limit` of the composition."""
ANSWERED = ("accepted", "rejected")


@dataclass(slots=True)
class Partner:
    """A service of its own, the key, and the folders that are verified there."""

    name: str
    folder: Path
    ports: tuple[int, int, int]
    running: sandbox.Running
    to_send: dict[Path, set[str]] = field(default_factory=dict)
    delivered: set[str] = field(default_factory=set)

    @property
    def key_file(self) -> Path:
        """Where the key is; a rotation replaces it."""
        return self.folder / "key"

    @property
    def config(self) -> Path:
        """The settings for this partner."""
        return self.folder / "partner.toml"

    @property
    def inbox(self) -> Path:
        """The folder of deliveries."""
        return self.folder / "inbox"

    def start(self) -> None:
        """Serve again, with what was registered before."""
        self.running = sandbox.launch(self.folder / "service", ports=self.ports)

    def kill(self) -> None:
        """Kill the service in the middle of its calls, and start it again."""
        os.kill(self.running.pid, signal.SIGKILL)
        self.running.wait()
        self.running.close()
        self.start()

    def set_calls_left(self, count: int) -> None:
        """Leave so many calls of the quota to every key."""
        used = max(key["limit"] - key["remaining"] for key in self.running.operator.usage())
        self.running.operator.set_quota(used + count)

    def verified(self) -> int:
        """Count the verifications that the service answered."""
        exchanges = self.running.operator.exchanges()
        return sum((each["call"], each["status"]) == ("verify", 200) for each in exchanges)


@dataclass(slots=True)
class TwoDays:
    """The system, its partners, and how many files each disturbance may have cost."""

    system: ComposedSystem
    folder: Path
    chance: random.Random
    partners: list[Partner]
    hook: Webhook
    lost_at_most: int = 0
    rotated: set[str] = field(default_factory=set)

    def command(self, partner: Partner, *arguments: str) -> Any:  # noqa: ANN401 - JSON
        """Run a command as a person would, on the machine of a worker; give its JSON."""
        environment = self.system.parts.environment(WORKERS[0]) | {"PROOFSWEEP_CONFIG": str(partner.config)}
        command = ["with-secrets", "proofsweep", *arguments, "--json"]
        done = subprocess.run(command, env=environment, cwd=self.folder, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    def kill_worker(self) -> None:
        """Kill a worker with its flow runs, as a power cut would; its machine starts again."""
        name = self.chance.choice(WORKERS)
        self.lost_at_most += IN_FLIGHT * FLOW_RUNS
        self.system.kill(name)
        self.system.start(name)

    def stop_worker(self) -> None:
        """Stop a worker as an update does, and start it again."""
        name = self.chance.choice(WORKERS)
        self.system.parts.stop(name)
        self.system.start(name)

    def kill_server(self) -> None:
        """Kill the Prefect server, and start it again."""
        self.system.kill("prefect")
        self.system.start("prefect")

    def kill_partner(self) -> None:
        """Kill a partner's service: calls that it answered may not have arrived."""
        self.lost_at_most += IN_FLIGHT * FLOW_RUNS * len(WORKERS)
        self.chance.choice(self.partners).kill()

    def fail_partner(self) -> None:
        """Let a partner fail every upload until the next hour."""
        self.chance.choice(self.partners).running.operator.add_fault("uploads", "status", status=500)

    def spend_quota(self) -> None:
        """Leave a partner's key few calls until the next hour."""
        self.chance.choice(self.partners).set_calls_left(12)

    def rotate_key(self) -> None:
        """Replace a partner's key by command while runs use it; each once, since a new key is kept for three days."""
        partner = self.chance.choice([each for each in self.partners if each.name not in self.rotated])
        self.rotated.add(partner.name)
        before = partner.key_file.read_text()
        self.command(partner, "keys", "rotate", "--yes")
        assert partner.key_file.read_text() != before

    def mend(self) -> None:
        """End what a partner mends by itself: failures, and a quota that is spent."""
        for partner in self.partners:
            partner.running.operator.clear_faults()
            partner.set_calls_left(100_000)

    def deliver(self) -> None:
        """Put a new file into each partner's inbox, in one step."""
        for partner in self.partners:
            made = self.folder / f"{partner.name}-{len(partner.delivered)}.wav"
            made.write_bytes(wav(0.1, self.chance))
            issued = partner.running.operator.issue(made, partner.folder)
            issued.audio.rename(partner.inbox / "supplier" / made.name)
            partner.delivered.add(made.name)

    def rows(self, table: str = "verdicts") -> list[dict[str, Any]]:
        return rows_in(self.folder / "results", table)

    def answers(self) -> Counter[str]:
        """Count the answers of each file, of all partners."""
        return Counter(row["audio"] for row in self.rows() if row["outcome"] in ANSWERED)


@contextmanager
def two_days(
    system: ComposedSystem, folder: Path, hook: Webhook, *, catalogs: int, files: int, hour_seconds: float, seed: int
) -> Iterator[TwoDays]:
    """Serve three partners with so many catalogs each; two workers run their schedules."""
    with ExitStack() as stack:
        partners = [_partner(folder / name, stack, catalogs, files) for name in NAMES]
        days = TwoDays(system, folder, random.Random(seed), partners, hook)  # noqa: S311 - drawn again by its seed
        (folder / "urls").write_text(f"json://127.0.0.1:{hook.port}/\n")
        for each in partners:
            each.config.write_text(_config(folder, each))
        system.parts.stop("worker")
        stack.callback(system.start, "worker")
        for name in WORKERS:
            system.parts.services[name] = _worker(system.parts.services["worker"])
            stack.callback(_stop_if_it_runs, system, name)
        for deployment in _deployments(partners, hour_seconds):
            _deploy(system, deployment)
        system.start(*WORKERS)
        yield days


def _close(partner: Partner) -> None:
    partner.running.close()  # the one that runs then


def _stop_if_it_runs(system: ComposedSystem, name: str) -> None:
    if name in system.parts.processes:
        system.parts.stop(name)


NAMES = ("acme", "borealis", "cirrus")


def _partner(folder: Path, stack: ExitStack, catalogs: int, files: int) -> Partner:
    """Start a service with its catalogs."""
    (folder / "inbox" / "supplier").mkdir(parents=True)
    api, storage, operator = free_ports(3)
    ports = (api, storage, operator)
    partner = Partner(folder.name, folder, ports, sandbox.launch(folder / "service", ports=ports))
    stack.callback(_close, partner)
    partner.key_file.write_text(partner.running.api_key)
    for number in range(catalogs):
        catalog = folder / f"catalog-{number}"
        samples = sandbox.write_catalog(catalog, partner.running.operator, files=files, seed=number + 1)
        partner.to_send[catalog] = {str(each.audio) for each in samples if each.verdict is not None}
    return partner


def _config(folder: Path, partner: Partner) -> str:
    """Write a partner's config; waits are short, as the days are."""
    return "\n".join(
        [
            f'[results]\nurl = "{folder / "results"}"',
            '[service]\nsidecar_field = "sidecar"',
            f'environment = "{partner.name}"\nbase_url = "{partner.running.base_url}"',
            f'api_key_file = "{partner.key_file}"',
            f"[pace]\nworkers = {IN_FLIGHT}\nfirst_rate = 200\nlongest_pause_seconds = 2",
            "[retry]\nattempts = 3\nlongest_wait_seconds = 0.5\nbreaker_seconds = 1",
            "[bounds]\ndrain_seconds = 4",
            f'[ingest]\nsettle_seconds = 0.2\naccepted = "{partner.folder / "accepted"}"',
            f'[alerts]\nurls_file = "{folder / "urls"}"',
        ]
    )


def _worker(declared: dict[str, Any]) -> dict[str, Any]:
    """Return a worker as the file declares it, with a health port of its own and no setting beside the config's."""
    (port,) = free_ports(1)
    worker: dict[str, Any] = json.loads(json.dumps(declared).replace("8080", str(port)))
    worker["environment"] = {
        name: value for name, value in worker["environment"].items() if not name.startswith("PROOFSWEEP_")
    }
    return worker


def _deployments(partners: list[Partner], hour_seconds: float) -> Iterator[dict[str, Any]]:
    """Yield a deployment for each catalog, every eight hours, and for each inbox, every six."""
    for partner in partners:
        config = str(partner.config)
        for catalog in partner.to_send:
            parameters = {"catalog": str(catalog), "config": config, "max_age": "30d"}
            yield _deployment(f"{partner.name}-{catalog.name}", "verify_catalog", parameters, 8 * hour_seconds)
        parameters = {"folder": str(partner.inbox), "config": config}
        yield _deployment(f"{partner.name}-inbox", "check_ingest", parameters, 6 * hour_seconds)


def _deployment(name: str, flow: str, parameters: dict[str, str], every_seconds: float) -> dict[str, Any]:
    return {
        "name": name,
        "flow": flow.replace("_", "-"),
        "entrypoint": f"proofsweep_flows.{flow}.{flow}",
        "parameters": parameters,
        "schedules": [{"active": True, "schedule": {"interval": every_seconds}}],
        "work_pool_name": "proofsweep",
        "concurrency_limit": 1,
        "concurrency_options": {"collision_strategy": "CANCEL_NEW"},
        "enforce_parameter_schema": False,
        "pull_steps": [{"prefect.deployments.steps.set_working_directory": {"directory": "."}}],
    }


def _deploy(system: ComposedSystem, deployment: dict[str, Any]) -> None:
    """Register a deployment, as `prefect deploy` does."""
    flow = system.api.post("/flows/", json={"name": deployment["flow"]}).raise_for_status().json()["id"]
    facts = {name: value for name, value in deployment.items() if name != "flow"}
    system.api.post("/deployments/", json=facts | {"flow_id": flow}).raise_for_status()
