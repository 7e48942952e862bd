"""A PostgreSQL server of this machine instead of the image's."""

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from ..worlds.waiting import wait_for

UNPRIVILEGED_USER = "nobody"
"""PostgreSQL runs as this user if the tests run as root, since it refuses root."""


def program(name: str) -> str:
    """Find one of PostgreSQL's programs, which Debian does not put on PATH."""
    found = shutil.which(name) or next(map(str, sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))), None)
    if found is None:
        pytest.skip("needs postgresql")
    return found


@contextmanager
def serving(*, user: str, password: str, database: str, port: str) -> Iterator[None]:
    """Make a cluster as the image does on its first start, and serve it on the loopback address."""
    initdb, postgres, createdb = (program(name) for name in ("initdb", "postgres", "createdb"))
    with TemporaryDirectory(prefix="pg-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        run_as = UNPRIVILEGED_USER if os.geteuid() == 0 else None
        (folder / "password").write_text(password)
        if run_as:
            for path in (folder, folder / "password"):
                os.chown(path, pwd.getpwnam(run_as).pw_uid, -1)
        subprocess.run(
            [initdb, "--pgdata=data", f"--username={user}", "--pwfile=password", "--auth=scram-sha-256", "--no-sync"],
            cwd=folder,
            user=run_as,
            check=True,
            capture_output=True,
        )
        options = ["-p", port, "-c", "listen_addresses=127.0.0.1", "-k", name, "-c", "fsync=off"]
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(
                [postgres, "-D", "data", *options], cwd=folder, user=run_as, stdout=log, stderr=log
            )
        try:
            _make_database([createdb, "-h", "127.0.0.1", "-p", port, "-U", user, database], password, server)
            yield
        finally:
            server.terminate()
            server.wait()


def _make_database(command: list[str], password: str, server: subprocess.Popen[bytes]) -> None:
    """Make the database as soon as the server accepts connections."""

    def is_made() -> bool:
        made = subprocess.run(command, env=os.environ | {"PGPASSWORD": password}, check=False, capture_output=True)
        assert server.poll() is None
        assert made.returncode == 0 or b"refused" in made.stderr or b"starting up" in made.stderr, made.stderr
        return made.returncode == 0

    wait_for(is_made)
