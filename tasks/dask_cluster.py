"""The Dask cluster that the settings ask for: one on this machine, or one that runs elsewhere."""

import logging
import signal
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from prefect.settings import PREFECT_API_URL

from proofsweep.errors import ConfigError

if TYPE_CHECKING:
    from prefect_dask.task_runners import DaskTaskRunner

# Shards that a worker process works on at once, as in `upload_then_verify`.
_TASKS_AT_ONCE = 2


def dask_runner(processes: int | None, address: str | None) -> "DaskTaskRunner":
    """Make the task runner; it starts or joins its cluster when it is entered.

    Args:
        processes: of a cluster on this machine; None for one for each processor.
        address: of the scheduler of a cluster that runs; None for one on this machine.

    Raises:
        ConfigError: Dask is not installed, or the cluster's machines could not work for this run.
    """
    try:
        from dask.system import CPU_COUNT  # noqa: PLC0415 - an optional part
        from prefect_dask.task_runners import DaskTaskRunner  # noqa: PLC0415 - the same
    except ImportError as error:
        raise ConfigError(
            f"runner = 'dask' needs prefect-dask ({error}): install proofsweep with its extra `dask`."
        ) from error
    if address is not None:
        server = PREFECT_API_URL.value() or ""
        if _is_local(server) and not _is_local(address):
            raise ConfigError(
                f"The worker processes of {address} cannot reach the Prefect server {server}, which serves this "
                "machine only: set PREFECT_API_URL to one that all machines reach (or dask.address to a loopback "
                "address)."
            )
        return DaskTaskRunner(address=address)
    return DaskTaskRunner(
        cluster_kwargs={
            "n_workers": processes or CPU_COUNT,
            "threads_per_worker": _TASKS_AT_ONCE,
            "memory_limit": 0,  # by default Dask kills a process that takes its share of the memory
            "dashboard_address": "127.0.0.1:0",  # several runs may be active
            "scheduler_kwargs": {"dashboard": False},
            "security": True,  # else every user of this machine could have the cluster run programs
            "preload": __name__,
            "env": {"PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL"},  # their lines are in Prefect
            "silence_logs": logging.CRITICAL,
        }
    )


def dask_setup(_worker: object) -> None:
    """Leave Ctrl-C and SIGTERM to the flow's process, which gives the files in flight their time.

    Each worker process of this machine does this first. A terminal and systemd send signals to all processes.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def _is_local(url: str) -> bool:
    return urlsplit(url).hostname in {"localhost", "127.0.0.1", "::1"}
