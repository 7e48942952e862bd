"""Launch a sandbox in its own process, for tests and demos."""

import json
import subprocess
import sys
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path

from proofsweep_sandbox.operator_client import Operator
from proofsweep_sandbox.options import Options

_STOP_SECONDS = 10


class Running(AbstractContextManager["Running"]):
    """A sandbox that runs in another process; it ends with `close`, or when this process ends."""

    def __init__(self, process: subprocess.Popen[str], addresses: dict[str, str]) -> None:
        self._process = process
        self.base_url = addresses["base_url"]
        self.operator_url = addresses["operator_url"]
        self.key_file = Path(addresses["key_file"])
        self.operator = Operator(self.operator_url)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def api_key(self) -> str:
        return self.key_file.read_text().strip()

    def wait(self) -> None:
        self._process.wait()

    def close(self) -> None:
        """Stop the sandbox and wait for its end; its home remains."""
        self.operator.close()
        _stop(self._process)

    def __exit__(self, *_: object) -> None:
        self.close()


def launch(
    home: Path,
    *,
    ports: tuple[int, int, int] = (0, 0, 0),
    options: Options | None = None,
    module: str = "proofsweep_sandbox",
) -> Running:
    """Start a sandbox with the folder `home` and return once it listens.

    `ports` are those of API, storage and operator; 0 takes any free one. `options` sets everything else. A benchmark
    may run another `module` with the same options. Raises RuntimeError if it does not start.
    """
    chosen = asdict(options) if options else {}
    chosen["home"] = home
    chosen["port"], chosen["storage_port"], chosen["operator_port"] = ports
    command = [sys.executable, "-P", "-m", module, "--ends-with-stdin"]
    for name, value in chosen.items():
        option = name.replace("_", "-")
        command.append(f"--{option}={value}")
    # The process has its own session, so Ctrl-C in a terminal does not reach it. When this process ends, the sandbox's
    # standard input closes, and it ends too.
    process = subprocess.Popen(  # noqa: S603 - our own program
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    line = process.stdout.readline() if process.stdout else ""
    if not line:
        _stop(process)
        raise RuntimeError(f"the sandbox did not start with the home {home}")
    return Running(process, json.loads(line))


def _stop(process: subprocess.Popen[str]) -> None:
    # The end of its standard input ends the sandbox; one that hangs is killed.
    for pipe in (process.stdin, process.stdout):
        if pipe:
            pipe.close()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
