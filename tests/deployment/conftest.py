"""All services of docker-compose.yml, started on this machine once for all tests here."""

import base64
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from .composed_system import ComposedSystem
from .native_compose import ROOT, Composition
from .postgres import serving


@pytest.fixture(scope="session")
def made_secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The secrets that `deploy/make-secrets` makes, in a folder of their own."""
    deploy = tmp_path_factory.mktemp("checkout") / "deploy"
    deploy.mkdir()
    script = deploy / "make-secrets"
    script.write_bytes((ROOT / "deploy" / "make-secrets").read_bytes())
    script.chmod(0o755)
    subprocess.run([script], check=True, capture_output=True)
    return deploy / "secrets"


@pytest.fixture(scope="package")  # its processes poll, and would for the rest of the tests
def composed(tmp_path_factory: pytest.TempPathFactory, made_secrets: Path) -> Iterator[ComposedSystem]:
    """Database, server, sandbox with samples, deployments and worker."""
    folder = tmp_path_factory.mktemp("composed")
    parts = Composition(folder, {})
    (folder / "secrets").symlink_to(made_secrets)
    login = base64.b64encode((made_secrets / "prefect-login").read_bytes().strip()).decode()
    with ExitStack() as stack:
        declared = parts.services["postgres"]["environment"]
        password = (made_secrets / "postgres-password").read_text().strip()
        names = {"user": declared["POSTGRES_USER"], "database": declared["POSTGRES_DB"]}
        assert not parts.is_healthy("postgres")
        stack.enter_context(serving(**names, password=password, port=parts.ports["5432"]))
        assert parts.is_healthy("postgres")
        url, headers = f"http://127.0.0.1:{parts.ports['4200']}/api", {"Authorization": f"Basic {login}"}
        api = stack.enter_context(httpx.Client(base_url=url, headers=headers, trust_env=False))
        system = ComposedSystem(parts, api)
        stack.callback(lambda: [parts.stop(name) for name in reversed(list(parts.processes))])
        system.start("prefect", "sandbox")
        assert parts.run("samples") == 0, parts.output("samples")
        assert parts.run("deployments") == 0, parts.output("deployments")
        system.start("worker")
        yield system
