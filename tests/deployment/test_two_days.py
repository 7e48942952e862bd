"""Two days of three partners, many catalogs and two workers: parts are killed at random, and nobody touches anything.

An hour is some seconds. `make soak` takes an hour for the two days, with 21 catalogs.
"""

import json
import os
import random
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import proofsweep_sandbox as sandbox
from proofsweep_sandbox.samples.sounds import wav

from ..servers.alert_receivers import Webhook, webhook
from ..servers.free_ports import free_ports
from ..worlds.command_world import rows_in
from ..worlds.waiting import wait_for
from .composed_system import ComposedSystem

SOAK_SECONDS = float(os.environ.get("PROOFSWEEP_SOAK_TWO_DAYS_SECONDS", "0"))
SEED = int(os.environ.get("PROOFSWEEP_SOAK_SEED", "11"))
HOURS = 48
# The server takes a killed flow run for dead after four minutes, whatever an hour is here, and keeps the slot
# of its deployment as long. No wait should come near it.
LONGEST_WAIT_SECONDS = 600.0
HOUR_SECONDS = SOAK_SECONDS / HOURS
CATALOGS, FILES = (7, 40) if SOAK_SECONDS >= 1_800 else (2, 26)
"""Catalogs of each of the three partners, and their files; a machine starts some forty flow runs in five minutes."""
PARTNERS = ("acme", "borealis", "cirrus")
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
        return self.folder / "partner.toml"

    @property
    def inbox(self) -> Path:
        return self.folder / "inbox"

    def kill(self) -> None:
        """Kill the service in the middle of its calls, and start it again with what was registered before."""
        os.kill(self.running.pid, signal.SIGKILL)
        self.running.wait()
        self.running.close()
        self.running = sandbox.launch(self.folder / "service", ports=self.ports)

    def close(self) -> None:
        self.running.close()  # the one that runs then

    def set_calls_left(self, count: int) -> None:
        """Leave so many calls of the quota to every key."""
        used = max(key["limit"] - key["remaining"] for key in self.running.operator.usage())
        self.running.operator.set_quota(used + count)

    def verified(self) -> int:
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


@pytest.fixture
def days(composed: ComposedSystem, tmp_path: Path) -> Iterator[TwoDays]:
    """The system with the catalogs of three partners, whose schedules two workers run."""
    with ExitStack() as stack:
        hook = stack.enter_context(webhook())
        partners = [_partner(tmp_path / name, stack) for name in PARTNERS]
        (tmp_path / "urls").write_text(f"json://127.0.0.1:{hook.port}/\n")
        for each in partners:
            each.config.write_text(_config(tmp_path, each))
        composed.parts.stop("worker")
        stack.callback(composed.start, "worker")
        for name in WORKERS:
            composed.parts.services[name] = _worker(composed.parts.services["worker"])
            stack.callback(lambda name=name: name in composed.parts.processes and composed.parts.stop(name))  # type: ignore[misc]
        for each in partners:
            _deploy_all(composed, each)
        composed.start(*WORKERS)
        yield TwoDays(composed, tmp_path, random.Random(SEED), partners, hook)  # noqa: S311


def _partner(folder: Path, stack: ExitStack) -> Partner:
    """Start a service with its catalogs."""
    (folder / "inbox" / "supplier").mkdir(parents=True)
    api, storage, operator = free_ports(3)
    ports = (api, storage, operator)
    partner = Partner(folder.name, folder, ports, sandbox.launch(folder / "service", ports=ports))
    stack.callback(partner.close)
    partner.key_file.write_text(partner.running.api_key)
    for number in range(CATALOGS):
        catalog = folder / f"catalog-{number}"
        samples = sandbox.write_catalog(catalog, partner.running.operator, files=FILES, seed=number + 1)
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
    for name in [name for name in worker["environment"] if name.startswith("PROOFSWEEP_")]:
        del worker["environment"][name]
    return worker


def _deploy_all(system: ComposedSystem, partner: Partner) -> None:
    """Deploy the flow of each catalog, every eight hours, and of the inbox, every six."""
    for catalog in partner.to_send:
        _deploy(system, partner, "verify_catalog", 8, catalog=str(catalog), max_age="30d")
    _deploy(system, partner, "check_ingest", 6, folder=str(partner.inbox))


def _deploy(system: ComposedSystem, partner: Partner, flow: str, every_hours: int, **parameters: str) -> None:
    """Register a deployment, as `prefect deploy` does."""
    known = system.api.post("/flows/", json={"name": flow.replace("_", "-")}).raise_for_status().json()
    facts = {
        "name": f"{partner.name}-{Path(next(iter(parameters.values()))).name}",
        "flow_id": known["id"],
        "entrypoint": f"proofsweep_flows.{flow}.{flow}",
        "parameters": parameters | {"config": str(partner.config)},
        "schedules": [{"active": True, "schedule": {"interval": every_hours * HOUR_SECONDS}}],
        "work_pool_name": "proofsweep",
        "concurrency_limit": 1,
        "concurrency_options": {"collision_strategy": "CANCEL_NEW"},
        "enforce_parameter_schema": False,
        "pull_steps": [{"prefect.deployments.steps.set_working_directory": {"directory": "."}}],
    }
    system.api.post("/deployments/", json=facts).raise_for_status()


def covered_of(days: TwoDays) -> dict[str, int]:
    """Count the files of each catalog that have an answer, by a plain reader."""
    answered = set(days.answers())
    return {str(catalog): len(files & answered) for each in days.partners for catalog, files in each.to_send.items()}


def assert_status_is_right(days: TwoDays) -> None:
    """Compare each catalog's line with what was there just before and just after."""
    before = covered_of(days)
    shown = days.command(days.partners[0], "status")
    after = covered_of(days)
    lines = {line["catalog"]: line for line in shown["catalogs"]}
    for catalog, least in before.items():
        line = lines.get(catalog)
        if line is None or line["covered"] is None:
            assert least == 0, f"{catalog}: {least} answered, shown as {line}"
        else:
            answered = line["covered"] - line["ineligible"]
            assert least <= answered <= after[catalog], f"{catalog}: {least} to {after[catalog]}, shown as {line}"
            assert line["environment"] in catalog
    assert {quota["environment"] for quota in shown["quotas"]} <= {each.name for each in days.partners}


def let_it_happen(days: TwoDays) -> None:
    """Live through the hours: in each something may break, and some things are mended by those who own them."""
    breaking = [days.kill_worker, days.kill_server, days.kill_partner, days.fail_partner, days.spend_quota]
    breaking += [days.rotate_key, days.stop_worker]
    begun = time.monotonic()
    for hour in range(HOURS):
        if hour % len(breaking) == 0:
            days.chance.shuffle(breaking)
        if hour % 3 == 1:
            breaking[(hour // 3) % len(breaking)]()
        if hour % 3 == 0:
            days.mend()
            days.deliver()
            assert_status_is_right(days)
        time.sleep(max(0.0, begun + (hour + 1) * HOUR_SECONDS - time.monotonic()))
    days.mend()


def wait_until_whole(days: TwoDays) -> None:
    """Wait until the schedules, which nobody touches, have brought an answer for each file."""

    def missing() -> dict[str, int]:
        answered = set(days.answers())
        lacking = {str(name): len(files - answered) for each in days.partners for name, files in each.to_send.items()}
        names = {Path(each).name for each in answered}
        return lacking | {each.name: len(each.delivered - names) for each in days.partners}

    wait_for(lambda: not any(missing().values()), lambda: (missing(), days.hook.titles), LONGEST_WAIT_SECONDS)


def assert_alerts_are_true_and_told_once(days: TwoDays) -> None:
    """Each message comes once, and names runs that there are."""
    posts = [(post["title"], post["message"]) for _, post in days.hook.posts]
    assert [post for post, times in Counter(posts).items() if times > 1] == []
    named = {run for _, message in posts for run in re.findall(r"\b\d{8}T\d{6}Z_[0-9a-f]+", message)}
    assert named <= {leg["run_id"] for leg in days.rows("runs")}


@pytest.mark.skipif(not SOAK_SECONDS, reason="takes as long as PROOFSWEEP_SOAK_TWO_DAYS_SECONDS says: make soak")
@pytest.mark.timeout(SOAK_SECONDS + 1_500)
def test_nobody_has_to_touch_anything_for_two_days(days: TwoDays) -> None:
    """Each file has one answer, only what a kill cut off is verified again, and alerts and status are true."""
    let_it_happen(days)
    wait_until_whole(days)

    answers = days.answers()
    assert {audio: count for audio, count in answers.items() if count > 1} == {}
    verified = sum(each.verified() for each in days.partners)
    assert 0 <= verified - sum(answers.values()) <= days.lost_at_most
    of_partners = {(row["environment"], Path(row["audio"]).relative_to(days.folder).parts[0]) for row in days.rows()}
    assert of_partners == {(each.name, each.name) for each in days.partners}
    assert_alerts_are_true_and_told_once(days)
    assert_status_is_right(days)
