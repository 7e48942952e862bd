"""The whole of docker-compose.yml, run on this machine once for all tests here."""

import base64
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from pyarrow.fs import S3FileSystem

from .natively import ROOT, Composition
from .postgres import serving

if TYPE_CHECKING:
    from ..servers.buckets import S3Server

PATIENCE_SECONDS = 90.0


@dataclass
class Whole:
    """What is up, in the order of the file's own conditions."""

    parts: Composition
    api: httpx.Client
    files: S3FileSystem

    def wait_for(self, holds: Callable[[], bool], what: str) -> None:
        """Come back when something holds."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not holds():
            said = {name: self.parts.said(name)[-2000:] for name in self.parts.processes}
            assert time.monotonic() < deadline, f"{what} never came to hold: {said}"
            time.sleep(0.2)

    def start(self, *names: str) -> None:
        """Start services at once, and wait until each is healthy by its own check."""
        for name in names:
            assert not self.parts.is_healthy(name)
            self.parts.start(name)
        for name in names:
            self.wait_for(lambda name=name: self.parts.is_healthy(name), f"{name} healthy")


@pytest.fixture(scope="session")
def made_secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `deploy/make-secrets` makes, in a folder of its own."""
    deploy = tmp_path_factory.mktemp("checkout") / "deploy"
    deploy.mkdir()
    script = deploy / "make-secrets"
    script.write_bytes((ROOT / "deploy" / "make-secrets").read_bytes())
    script.chmod(0o755)
    subprocess.run([script], check=True, capture_output=True)
    return deploy / "secrets"


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory, made_secrets: Path, moto: "S3Server") -> Iterator[Whole]:
    """Database, server, bucket, sandbox with samples, deployments and worker; moto stands where the store would."""
    folder = tmp_path_factory.mktemp("whole")
    parts = Composition(folder, {})
    parts.ports["7070"] = moto.url.rpartition(":")[2]
    store = S3FileSystem(
        endpoint_override=moto.url, access_key=moto.access_key, secret_key=moto.secret_key, region=moto.region
    )
    (folder / "secrets").symlink_to(made_secrets)
    login = base64.b64encode((made_secrets / "prefect-login").read_bytes().strip()).decode()
    with ExitStack() as stack:
        told = parts.services["postgres"]["environment"]
        password = (made_secrets / "postgres-password").read_text().strip()
        assert not parts.is_healthy("postgres")
        stack.enter_context(
            serving(
                user=told["POSTGRES_USER"],
                password=password,
                database=told["POSTGRES_DB"],
                port=parts.ports["5432"],
            )
        )
        assert parts.is_healthy("postgres")
        api = stack.enter_context(
            httpx.Client(
                base_url=f"http://127.0.0.1:{parts.ports['4200']}/api",
                headers={"Authorization": f"Basic {login}"},
                trust_env=False,
            )
        )
        it = Whole(parts, api, store)
        stack.callback(lambda: [parts.stop(name) for name in reversed(list(parts.processes))])
        it.start("prefect", "sandbox")
        assert parts.run("bucket") == 0, parts.said("bucket")
        assert parts.run("samples") == 0, parts.said("samples")
        assert parts.run("deployments") == 0, parts.said("deployments")
        it.start("worker")
        yield it
