"""Start a systemd unit without systemd: `python start_unit.py UNIT LOG` prints its process ID and leaves it running."""

import os
import shlex
import subprocess
import sys
from pathlib import Path


def settings_of(unit: Path) -> list[tuple[str, str]]:
    lines = [line for line in unit.read_text().splitlines() if "=" in line and not line.startswith("#")]
    return [(name, value) for name, _, value in (line.partition("=") for line in lines)]


def environment_of(unit: Path) -> dict[str, str]:
    """Return what systemd gives: a short PATH, `Environment=` and the files of `EnvironmentFile=`."""
    given = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
    for name, value in settings_of(unit):
        if name == "Environment":
            given |= dict([value.split("=", 1)])
        file = Path(value.removeprefix("-"))
        if name == "EnvironmentFile" and (file.exists() or not value.startswith("-")):
            lines = file.read_text().splitlines()
            given |= dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    return given


def start(unit: Path, log: Path) -> int:
    """Run `ExecStartPre=`, then start `ExecStart=`; give its process ID."""
    settings, environ = dict(settings_of(unit)), environment_of(unit)
    with log.open("ab") as sink:
        if "ExecStartPre" in settings:
            subprocess.run(shlex.split(settings["ExecStartPre"]), check=True, env=environ, stdout=sink, stderr=sink)
        return subprocess.Popen(
            shlex.split(settings["ExecStart"]),
            cwd=settings["WorkingDirectory"],
            env=environ | {"HOME": settings["WorkingDirectory"]},
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            start_new_session=True,
        ).pid


if __name__ == "__main__":
    os.write(1, f"{start(Path(sys.argv[1]), Path(sys.argv[2]))}\n".encode())
