"""Run programs as child processes, mostly `proofsweep verify`, and read their resource use from the kernel."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.null_service import Running

_AS_DEPLOYED = {"PYTHONDONTWRITEBYTECODE": "", "MALLOC_ARENA_MAX": "2", "ARROW_DEFAULT_MEMORY_POOL": "system"}
"""As the image; some environments turn off Python's compiled files, and then each start compiles everything again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """The resources that one process used.

    Attributes:
        cpu_seconds: user and system, including the children that it waited for.
        cpu_before_seconds: the part of these before the first byte of its first form; 0 if it sent none.
        first_byte_seconds: wall time until that byte.
        seconds: wall time until its end.
        peak_mebibytes: its largest resident memory; never less than that of its parent process.
    """

    cpu_seconds: float
    peak_mebibytes: float
    cpu_before_seconds: float = 0.0
    first_byte_seconds: float = 0.0
    seconds: float = 0.0


def measure(command: list[str], service: Running, *, at_once: int = 16, dedupe: bool = False) -> Used:
    """Run a Python module against a null service until it ends."""
    began = time.monotonic()
    used = run(["-m", *command], settings_for(service, at_once, dedupe=dedupe), service.watch)
    counts = service.counts()
    first_byte_seconds = max(0.0, counts["first_slot"] - began)
    return replace(used, cpu_before_seconds=counts["cpu_then"], first_byte_seconds=first_byte_seconds)


def run(
    command: list[str],
    environment: Mapping[str, str],
    started: Callable[[int], object] = lambda _pid: None,
    codes: Sequence[int] = (0,),
) -> Used:
    """Run Python with these arguments until it ends with one of some exit codes; `started` receives its process id."""
    with tempfile.TemporaryFile() as output:
        whole, began = {**os.environ, **_AS_DEPLOYED, **environment}, time.monotonic()
        process = subprocess.Popen([sys.executable, *command], env=whole, stdout=output, stderr=subprocess.STDOUT)
        started(process.pid)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in codes:
            output.seek(0)
            raise SystemExit(f"{' '.join(command)} ended with {process.returncode}:\n{output.read().decode()}")
    return Used(
        cpu_seconds=used.ru_utime + used.ru_stime,
        peak_mebibytes=used.ru_maxrss / 1024,
        seconds=time.monotonic() - began,
    )


def verify(catalog: Path, service: Running, *, at_once: int = 16, dedupe: bool = False) -> Used:
    """Run `proofsweep verify` on a catalog and delete its tables. All rows must be sent.

    If PREFECT_API_URL is set, the Prefect server's resources are not included. Without `dedupe` all rows may name one
    file, which is then in the page cache.
    """
    with tempfile.TemporaryDirectory(prefix="results-", dir=catalog.parent) as results:
        command = ["proofsweep_cli", "verify", str(catalog), "--results", results]
        used = measure(command, service, at_once=at_once, dedupe=dedupe)
    rows = sum(1 for _ in catalog.open()) - 1
    calls = service.counts()["/v1/verify"]
    if calls < rows:  # more are calls that were repeated, as on a machine that is too busy to answer in time
        raise SystemExit(f"{calls} of {rows} rows in {catalog.name} sent: do two of its files have the same bytes?")
    return used


def settings_for(service: Running, at_once: int, *, dedupe: bool) -> dict[str, str]:
    """Return the variables of a client of a null service."""
    return service.environment | {
        "PROOFSWEEP_CONFIG": "sandbox",
        "PROOFSWEEP_SERVICE__BASE_URL": service.base_url,
        "PROOFSWEEP_SERVICE__ENVIRONMENT": "null",
        "PROOFSWEEP_SERVICE__API_KEY_FILE": "",
        "PROOFSWEEP_SERVICE__API_KEY_ENV": "NULL_KEY",
        "NULL_KEY": "none",
        "PROOFSWEEP_PACE__WORKERS": str(at_once),
        "PROOFSWEEP_CATALOG__DEDUPE": str(dedupe),
    }


def waves(folder: Path, size_bytes: int, count: int) -> list[Path]:
    """Make sparse files that begin like a WAV and differ in their first bytes; they use almost no disk space."""
    paths = [folder / f"{size_bytes}-{number}.wav" for number in range(count)]
    for number, path in enumerate(paths):
        if not path.exists():
            with path.open("wb") as file:
                file.write(b"RIFF" + (size_bytes - 8).to_bytes(4, "little") + b"WAVEfmt " + b"%016d" % number)
                file.truncate(size_bytes)
    return paths


def manifest(folder: Path, audio: Sequence[Path], rows: int) -> Path:
    """Write a manifest that names these files in turn, with two tags that differ in each row."""
    path = folder / f"{audio[0].stem}-{rows}.csv"
    with path.open("w", encoding="utf-8") as file:
        file.write("audio,isrc,title\n")
        file.writelines(f"{audio[row % len(audio)]},QZNUL{row:07},Song {row}\n" for row in range(rows))
    return path


@contextmanager
def prefect_server() -> Iterator[int]:
    """Serve Prefect for several runs, with its own home; yield the server's process id."""
    from proofsweep_cli.prefect_api import prefect_api  # noqa: PLC0415 - other callers stay small

    with tempfile.TemporaryDirectory(prefix="prefect-home-") as home:
        os.environ["PREFECT_HOME"] = home
        with prefect_api() as server:
            if server is None:
                raise SystemExit("unset PREFECT_API_URL: this measures with a Prefect server of its own")
            server.wait_until_up()
            yield server.process.pid
