"""docker-compose.yml as a document: it follows the specification and our rules for each service."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .native_compose import PORTS, ROOT, read_compose

COMPOSE = read_compose({})
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
ONE_SHOT = {"bucket", "deployments", "samples"}
PINNED = re.compile(r"[\w./-]+:v?\d+\.\d+(\.\d+)?(-[a-z]+)?(@sha256:[0-9a-f]{64})?")

each_service = pytest.mark.parametrize("name", SERVICES)


def test_file_keeps_to_the_specification() -> None:
    """It matches the schema of the Compose Specification, which a published checker contains."""
    checked = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema=vendor.compose-spec", ROOT / "docker-compose.yml"],
        check=False,
        capture_output=True,
        text=True,
    )

    assert checked.returncode == 0, checked.stdout


@each_service
def test_foreign_images_are_pinned(name: str) -> None:
    """An image that is pulled has an exact version; our own images are built from this checkout."""
    service = SERVICES[name]

    if "build" in service:
        assert service["image"] in {"proofsweep", "proofsweep-store"}
    else:
        assert PINNED.fullmatch(service["image"])


@each_service
def test_services_are_confined(name: str) -> None:
    """No service is root, writes to its image, gains rights, or may use all of the machine."""
    service = SERVICES[name]

    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert set(service["deploy"]["resources"]["limits"]) == {"cpus", "memory"}
    if "build" not in service:  # the user of ours is set in the Dockerfile
        assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", service["user"])


@each_service
def test_ports_are_open_to_this_machine_only(name: str) -> None:
    """By default no port is open to the network."""
    assert all(port.startswith("127.0.0.1:") for port in SERVICES[name].get("ports", []))
    assert {port.rpartition(":")[2] for port in SERVICES[name].get("ports", [])} <= set(PORTS)


@each_service
def test_secrets_come_as_files(name: str) -> None:
    """No value of the file is a secret: a variable that sounds like one names a file of the service."""
    service = SERVICES[name]
    given = {f"/run/secrets/{secret}" for secret in service.get("secrets", []) if isinstance(secret, str)}

    for variable, value in service.get("environment", {}).items():
        if re.search(r"PASSWORD|SECRET|ACCESS_KEY|API_KEY|AUTH_STRING", variable):
            assert variable.endswith("_FILE")
            assert value in given


def test_every_secret_is_made_and_used(made_secrets: Path) -> None:
    """The services use exactly the secrets that `deploy/make-secrets` makes."""
    used = {
        secret if isinstance(secret, str) else secret["source"]
        for service in SERVICES.values()
        for secret in service.get("secrets", [])
    }

    assert set(COMPOSE["secrets"]) == used == {path.name for path in made_secrets.iterdir()}
    assert all(it["file"] == f"deploy/secrets/{name}" for name, it in COMPOSE["secrets"].items())


@each_service
def test_servers_have_health_checks_and_one_shot_services_have_none(name: str) -> None:
    """Each condition names a service that can meet it."""
    assert ("healthcheck" in SERVICES[name]) == (name not in ONE_SHOT)
    for needed, how in SERVICES[name].get("depends_on", {}).items():
        met = "service_completed_successfully" if needed in ONE_SHOT else "service_healthy"
        assert how == {"condition": met}


def test_only_the_server_reaches_the_database() -> None:
    """Only the server reaches PostgreSQL, over an internal network."""
    assert {name for name, it in SERVICES.items() if "database" in it.get("networks", [])} == {"postgres", "prefect"}
    assert COMPOSE["networks"]["database"] == {"internal": True}


def test_named_volumes_are_declared() -> None:
    """A misspelt name would make a new, empty volume."""
    named = {volume.split(":")[0] for service in SERVICES.values() for volume in service.get("volumes", [])}

    assert {name for name in named if not name.startswith(".")} == set(COMPOSE["volumes"])


def test_a_real_catalog_can_replace_the_samples() -> None:
    """Folder and service are set by variables; the file does not change."""
    own = {"CATALOG_FOLDER": "/music", "PROOFSWEEP_SERVICE__BASE_URL": "https://partner.example/v1"}

    worker = read_compose(own)["services"]["worker"]

    assert "/music:/var/lib/proofsweep/catalog:ro" in worker["volumes"]
    assert worker["environment"]["PROOFSWEEP_SERVICE__BASE_URL"] == "https://partner.example/v1"
