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
    options = ["-p", port, "-c", "listen_addresses=127.0.0.1"]
    with _cluster(user, password, "--auth=scram-sha-256", options) as (_, server):
        made = [program("createdb"), "-h", "127.0.0.1", "-p", port, "-U", user, database]
        _done_when_it_accepts(made, password, server)
        yield


@contextmanager
def serving_as_packaged() -> Iterator[Path]:
    """Make a cluster as Debian's package does, with `postgres` as its owner; yield the folder of its Unix socket.

    Whoever reaches the folder may log in by any name, since the tests have no other users than their own.
    """
    with _cluster("postgres", "unused", "--auth=trust", ["-c", "listen_addresses="]) as (folder, server):
        _done_when_it_accepts([program("psql"), "-h", str(folder), "-U", "postgres", "-c", "SELECT 1"], "", server)
        yield folder


@contextmanager
def _cluster(user: str, password: str, auth: str, options: list[str]) -> Iterator[tuple[Path, subprocess.Popen[bytes]]]:
    with TemporaryDirectory(prefix="pg-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        run_as = UNPRIVILEGED_USER if os.geteuid() == 0 else None
        (folder / "password").write_text(password)
        if run_as:
            for path in (folder, folder / "password"):
                os.chown(path, pwd.getpwnam(run_as).pw_uid, -1)
        subprocess.run(
            [program("initdb"), "--pgdata=data", f"--username={user}", "--pwfile=password", auth, "--no-sync"],
            cwd=folder,
            user=run_as,
            check=True,
            capture_output=True,
        )
        command = [program("postgres"), "-D", "data", *options, "-k", name, "-c", "fsync=off"]
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(command, cwd=folder, user=run_as, stdout=log, stderr=log)
        try:
            yield folder, server
        finally:
            server.terminate()
            server.wait()


def _done_when_it_accepts(command: list[str], password: str, server: subprocess.Popen[bytes]) -> None:
    """Do a command as soon as the server accepts connections."""

    def is_done() -> bool:
        done = subprocess.run(command, env=os.environ | {"PGPASSWORD": password}, check=False, capture_output=True)
        assert server.poll() is None
        known = (b"refused", b"starting up", b"No such file")
        assert done.returncode == 0 or any(why in done.stderr for why in known), done.stderr
        return done.returncode == 0

    wait_for(is_done)
