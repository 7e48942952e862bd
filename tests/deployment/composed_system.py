"""The services of docker-compose.yml, running on this machine, as the tests use them."""

from collections.abc import Callable
from dataclasses import dataclass

import httpx
from pyarrow.fs import S3FileSystem

from ..worlds.waiting import wait_for
from .native_compose import Composition


@dataclass(slots=True)
class ComposedSystem:
    """The running services, a client of the Prefect server's API, and the store's files."""

    parts: Composition
    api: httpx.Client
    files: S3FileSystem

    def wait_for(self, holds: Callable[[], object], what: str) -> None:
        """Return soon after a condition holds."""
        wait_for(holds, lambda: {what: {name: self.parts.output(name)[-2000:] for name in self.parts.processes}})

    def start(self, *names: str) -> None:
        """Start services together, and wait until each is healthy by its own check."""
        for name in names:
            assert not self.parts.is_healthy(name)
            self.parts.start(name)
        for name in names:
            self.wait_for(lambda name=name: self.parts.is_healthy(name), f"{name} healthy")  # type: ignore[misc]
