"""docker-compose.yml as a document: what the specification allows, and what we want of every service."""

import re
import subprocess
import sys
from typing import Any

import pytest

from .natively import PORTS, ROOT, read_compose

WHOLE = read_compose({})
SERVICES: dict[str, dict[str, Any]] = WHOLE["services"]
ONE_SHOT = {"bucket", "deployments", "samples"}
PINNED = re.compile(r"[\w./-]+:v?\d+\.\d+(\.\d+)?(-[a-z]+)?(@sha256:[0-9a-f]{64})?")

each_service = pytest.mark.parametrize("name", SERVICES)


def test_file_keeps_to_the_specification() -> None:
    """The Compose Specification's own schema, as it comes with a published checker."""
    told = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema=vendor.compose-spec", ROOT / "docker-compose.yml"],
        check=False,
        capture_output=True,
        text=True,
    )

    assert told.returncode == 0, told.stdout


@each_service
def test_foreign_images_are_pinned(name: str) -> None:
    """What is pulled is a version, never whatever is newest; ours are built from this checkout."""
    service = SERVICES[name]

    if "build" in service:
        assert service["image"] in {"proofsweep", "proofsweep-store"}
    else:
        assert PINNED.fullmatch(service["image"])


@each_service
def test_services_are_confined(name: str) -> None:
    """Nobody is root, writes to its image, or gains rights; and nobody takes the whole machine."""
    service = SERVICES[name]

    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert set(service["deploy"]["resources"]["limits"]) == {"cpus", "memory"}
    if "build" not in service:  # the user of ours is set in the Dockerfile
        assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", service["user"])


@each_service
def test_ports_are_this_machines_alone(name: str) -> None:
    """Nothing is served to the network by default."""
    assert all(port.startswith("127.0.0.1:") for port in SERVICES[name].get("ports", []))
    assert {port.rpartition(":")[2] for port in SERVICES[name].get("ports", [])} <= set(PORTS)


@each_service
def test_secrets_come_as_files(name: str) -> None:
    """No value of the file is a secret: what sounds like one names a file that the service is given."""
    service = SERVICES[name]
    given = {f"/run/secrets/{secret}" for secret in service.get("secrets", []) if isinstance(secret, str)}

    for variable, value in service.get("environment", {}).items():
        if re.search(r"PASSWORD|SECRET|ACCESS_KEY|API_KEY|AUTH_STRING", variable):
            assert variable.endswith("_FILE")
            assert value in given


def test_every_secret_is_made_and_used(made_secrets: Any) -> None:  # noqa: ANN401
    """What the file asks for is what `deploy/make-secrets` makes."""
    used = {
        secret if isinstance(secret, str) else secret["source"]
        for service in SERVICES.values()
        for secret in service.get("secrets", [])
    }

    assert set(WHOLE["secrets"]) == used == {path.name for path in made_secrets.iterdir()}
    assert all(it["file"] == f"deploy/secrets/{name}" for name, it in WHOLE["secrets"].items())


@each_service
def test_who_serves_is_checked_and_who_ends_is_waited_for(name: str) -> None:
    """A condition names a service that can meet it."""
    assert ("healthcheck" in SERVICES[name]) == (name not in ONE_SHOT)
    for needed, how in SERVICES[name].get("depends_on", {}).items():
        met = "service_completed_successfully" if needed in ONE_SHOT else "service_healthy"
        assert how == {"condition": met}


def test_the_database_is_the_servers_alone() -> None:
    """Of all services one may reach PostgreSQL, over a network that leads nowhere else."""
    assert {name for name, it in SERVICES.items() if "database" in it.get("networks", [])} == {"postgres", "prefect"}
    assert WHOLE["networks"]["database"] == {"internal": True}


def test_named_volumes_are_declared() -> None:
    """A misspelt name would be a new and empty volume."""
    named = {volume.split(":")[0] for service in SERVICES.values() for volume in service.get("volumes", [])}

    assert {name for name in named if not name.startswith(".")} == set(WHOLE["volumes"])


def test_real_music_takes_the_place_of_the_samples() -> None:
    """Folders and service are set beside the file, which stays as it is."""
    own = {"CATALOG_FOLDER": "/music", "PROOFSWEEP_SERVICE__BASE_URL": "https://partner.example/v1"}

    worker = read_compose(own)["services"]["worker"]

    assert "/music:/var/lib/proofsweep/catalog:ro" in worker["volumes"]
    assert worker["environment"]["PROOFSWEEP_SERVICE__BASE_URL"] == "https://partner.example/v1"
