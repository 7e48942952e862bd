"""Starting storage servers: programs that print their URL in one line, and end with their standard input."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def launched(command: Sequence[str | Path], log: Path, environment: dict[str, str]) -> Iterator[str]:
    """Run a server; give its URL, which it prints; its stderr goes to `log`."""
    with log.open("wb") as sink:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=sink,
            text=True,
            start_new_session=True,
            env=environment,
        )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        with process.stdout, process.stdin:
            line = next((line for line in process.stdout if "http://" in line), None)
            assert line is not None, f"{command[1]} did not start: {log.read_text(errors='replace')[-2000:]}"
            yield line[line.index("http://") :].strip()
    finally:
        process.kill()
        process.wait()


def need(is_there: object, part: str) -> None:
    """Skip the test where a part is missing."""
    if not is_there:
        pytest.skip(f"needs {part}")
