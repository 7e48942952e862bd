"""The Compose files and the automations as documents: they follow the specification and our rules for each service."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from ..worlds.core import STATES_OF_RUNS, setting
from .native_compose import PORTS, REAL, ROOT, S3, TRIAL, read_compose

SECRETS = {"SECRETS_FOLDER": "deploy/secrets"}
"""What `make up` leaves in `.env`."""
COMPOSE = read_compose(SECRETS)
SERVICES: dict[str, dict[str, Any]] = read_compose(SECRETS, S3)["services"] | COMPOSE["services"]
OURS = {"proofsweep"}
SERVICES_OF_REAL = read_compose(SECRETS, REAL)["services"]
ONE_SHOT = {"bucket", "deployments", "samples"}
DEFAULTS = dict(
    re.findall(r"`(PROOFSWEEP_\w+)` \| `?(.*?)`? \|", (ROOT / "docs" / "command-line.md").read_text("utf-8"))
)
"""Each setting of the documentation, by its variable."""
TRIGGERS: list[dict[str, Any]] = [
    each["trigger"] for each in yaml.safe_load((ROOT / "deploy" / "automations.yaml").read_text())["automations"]
]
PINNED = re.compile(r"[\w./-]+:v?\d+\.\d+(\.\d+)?(-[a-z]+)?(@sha256:[0-9a-f]{64})?")


def test_files_keep_to_the_specification() -> None:
    """They match the schema of the Compose Specification, which a published checker contains."""
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema=vendor.compose-spec"]
    files = [ROOT / file for file in {*TRIAL, *S3}]
    checked = subprocess.run([*command, *files], check=False, capture_output=True, text=True)

    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize("name", SERVICES)
def test_each_service_keeps_our_rules(name: str) -> None:
    """Its image has an exact version or is built here; it is confined; it opens ports to this machine only.

    It is not root, writes not to its image, gains no rights and uses not all of the machine. No value of the file is a
    secret: a variable that sounds like one names a file of the service. Each condition can be met.
    """
    service = SERVICES[name]
    secrets = {f"/run/secrets/{secret}" for secret in service.get("secrets", []) if isinstance(secret, str)}
    secret_variables = {
        variable: value
        for variable, value in service.get("environment", {}).items()
        if re.search(r"PASSWORD|SECRET|ACCESS_KEY|API_KEY|AUTH_STRING", variable)
    }

    assert service["image"] in OURS or PINNED.fullmatch(service["image"])
    assert service["image"] in OURS or re.fullmatch(r"[1-9]\d+:[1-9]\d+", service["user"])  # else in the Dockerfile
    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert set(service["deploy"]["resources"]["limits"]) == {"cpus", "memory"}
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))
    assert {port.rpartition(":")[2] for port in service.get("ports", [])} <= set(PORTS)
    assert all(variable.endswith("_FILE") for variable in secret_variables)
    assert set(secret_variables.values()) <= secrets
    assert ("healthcheck" in service) == (name not in ONE_SHOT)
    for needed, how in service.get("depends_on", {}).items():
        met = "service_completed_successfully" if needed in ONE_SHOT else "service_healthy"
        assert how == {"condition": met}


def test_every_secret_is_made_and_used(made_secrets: Path) -> None:
    """The services of a trial use exactly the secrets that `deploy/make-secrets` makes."""
    used = {
        secret if isinstance(secret, str) else secret["source"]
        for service in COMPOSE["services"].values()
        for secret in service.get("secrets", [])
    }

    files = {Path(it["file"]) for it in COMPOSE["secrets"].values()}
    assert set(COMPOSE["secrets"]) == used
    assert files == {Path("deploy/secrets") / path.name for path in made_secrets.iterdir()}


def test_only_the_server_reaches_the_database() -> None:
    """Only the server reaches PostgreSQL, over an internal network."""
    assert {name for name, it in SERVICES.items() if "database" in it.get("networks", [])} == {"postgres", "prefect"}
    assert COMPOSE["networks"]["database"] == {"internal": True}


@pytest.mark.parametrize("section", ["PROOFSWEEP_INGEST__", "PROOFSWEEP_BOUNDS__"])
def test_what_a_person_sets_for_ingest_and_as_bounds_reaches_the_worker(section: str) -> None:
    """Each of these settings is passed on."""
    environment = SERVICES_OF_REAL["worker"]["environment"]
    passed = {name for name, value in environment.items() if value is None and name.startswith(section)}

    assert passed == {name for name in DEFAULTS if name.startswith(section)}


def test_a_real_run_has_nothing_of_the_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without docker-compose.sandbox.yml, no service, key, catalog, wire name or rate of the sandbox is there."""
    real = read_compose(SECRETS | {"PROOFSWEEP_SERVICE__BASE_URL": "https://partner.example/v1"}, REAL)
    for name, value in real["services"]["worker"]["environment"].items():
        if name.startswith("PROOFSWEEP_") and value is not None:
            monkeypatch.setenv(name, value)
    monkeypatch.setenv("PROOFSWEEP_SERVICE__ENVIRONMENT", "production")

    assert {"sandbox", "samples"} & set(real["services"]) == set()
    assert real["secrets"]["partner-key"]["file"] == "deploy/secrets/partner-key"
    assert (setting("service.sidecar_field"), setting("service.allow_plain_http")) == (None, False)
    assert str(setting("pace.first_rate")) == DEFAULTS["PROOFSWEEP_PACE__FIRST_RATE"]


@pytest.mark.parametrize("files", [REAL, TRIAL], ids=["real", "trial"])
def test_a_resume_reads_the_profile_of_the_nightly_run(files: tuple[str, ...]) -> None:
    """`docker compose exec worker … proofsweep resume` names no config."""
    deployments = yaml.safe_load((ROOT / "prefect.yaml").read_text())["deployments"]
    (nightly,) = [each for each in deployments if each["name"] == "nightly"]

    worker = read_compose({}, files)["services"]["worker"]

    assert worker["environment"]["PROOFSWEEP_CONFIG"] == nightly["parameters"]["config"]


def test_a_trial_keeps_to_itself() -> None:
    """Even beside the settings of real runs: its key, service, results and catalogs are its own."""
    own = {
        "CATALOG_FOLDER": "/music",
        "PROOFSWEEP_RESULTS__URL": "s3://ours/x",
    }

    trial = read_compose(SECRETS | own | {"PROOFSWEEP_SERVICE__BASE_URL": "https://partner.example/v1"}, TRIAL)

    worker = trial["services"]["worker"]
    assert worker["environment"]["PROOFSWEEP_SERVICE__BASE_URL"] == "http://sandbox:8725/v1"
    assert worker["environment"]["PROOFSWEEP_RESULTS__URL"] == "results"
    assert {volume.split(":")[0] for volume in worker["volumes"]} == {
        f"sample-{name}" for name in ("results", "catalog", "ingest", "accepted", "quarantine")
    }
    assert trial["secrets"]["partner-key"]["file"] == "deploy/secrets/sandbox-key"


def test_every_flow_is_seen_and_run_again() -> None:
    """A second time does only what is left, or what costs little."""
    sources = (path.read_text() for path in (ROOT / "flows" / "proofsweep_flows").glob("*.py"))
    flows = {name for source in sources for name in re.findall(r'@flow\(\s*name="([\w-]+)"', source)}

    named = [set(trigger["match_related"][0]["prefect.resource.name"]) for trigger in TRIGGERS]

    assert named == [flows] * 5


def test_every_end_of_a_run_shows_that_it_lives() -> None:
    """A run that ended after all is neither crashed nor given up."""
    states = {f"prefect.flow-run.{state}" for state in STATES_OF_RUNS} - {"prefect.flow-run.Crashed"}

    assert [states - set(trigger["expect"]) for trigger in TRIGGERS if trigger["posture"] == "Proactive"] == [set()] * 4
