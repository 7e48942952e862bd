"""Measure Prefect's CPU per file, with a task for each file and with a task for each batch.

Run from the checkout: `python -m benchmarks.prefect_tasks [--files 500]`. The tasks do almost no work, so the figure is
Prefect's own: the CPU of this process, and of its server until the server has processed all events of the run.
"""

import argparse
import time
from collections.abc import Callable

from benchmarks.null_service import cpu_seconds_of
from proofsweep_cli.embedded_server import EmbeddedServer
from proofsweep_cli.prefect_api import prefect_api

# The server is idle if it uses less than a quarter of this time in CPU.
_SETTLED_SECONDS = 2.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=500)
    files = parser.parse_args().files
    with prefect_api() as server:
        if server is None:
            raise SystemExit("unset PREFECT_API_URL: this measures a server of its own")
        server.wait_until_up()
        run = _mapped_run()
        run([1])  # do the work that is needed only once
        each = _cpu_seconds(server, lambda: run([1] * files))
        batches = _cpu_seconds(server, lambda: run([1000] * max(1, files // 250)))
    per_file, per_batch_file = each / files, batches / (max(1, files // 250) * 1000)
    print(f"a task for each file:  {per_file * 1000:8.3f} ms of CPU per file")
    print(f"a task for each batch: {per_batch_file * 1000:8.3f} ms of CPU per file (of 1,000 files)")
    print(
        f"ratio {per_file / per_batch_file:,.0f}; a million files: {per_file * 1e6 / 3600:.1f} h of CPU against "
        f"{per_batch_file * 1e6 / 3600:.2f} h"
    )


def _mapped_run() -> Callable[[list[int]], None]:
    from prefect import flow, task  # noqa: PLC0415 - after the server's address is set
    from prefect.futures import wait  # noqa: PLC0415
    from prefect.task_runners import ThreadPoolTaskRunner  # noqa: PLC0415

    @task
    def count_files(files: int) -> int:
        return sum(1 for _ in range(files))

    @flow(task_runner=ThreadPoolTaskRunner(max_workers=2))  # type: ignore[arg-type]  # its type is invariant
    def measured(pieces: list[int]) -> None:
        wait(count_files.map(pieces))

    return measured


def _cpu_seconds(server: EmbeddedServer, work: Callable[[], None]) -> float:
    began = time.process_time() + cpu_seconds_of(server.process.pid)
    work()
    return time.process_time() + _settled(server.process.pid) - began


def _settled(pid: int) -> float:
    """Wait until the server is idle; return the CPU seconds it has used."""
    used = -1.0
    while (now := cpu_seconds_of(pid)) - used > _SETTLED_SECONDS / 4:
        used = now
        time.sleep(_SETTLED_SECONDS)
    return now


if __name__ == "__main__":
    main()
