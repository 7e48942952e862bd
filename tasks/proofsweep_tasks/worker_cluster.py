"""The Dask cluster whose worker processes work on the partitions of a run."""

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from prefect.task_runners import TaskRunner

from proofsweep.domain.errors import ConfigError, missing_extra
from proofsweep.domain.text import without_logins

_FIRST_WORKER_SECONDS = 120.0  # bounds the wait for the first worker process of a cluster


@contextmanager
def started_cluster(address: str | None, processes: int) -> Iterator[TaskRunner[Any]]:
    """Start a Dask cluster of so many worker processes on this machine, or use the one whose scheduler is given.

    ConfigError if Dask is not installed, or the cluster cannot be used.
    """
    try:
        from prefect_dask.task_runners import DaskTaskRunner  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise missing_extra("dask.address", "dask") from error

    cluster = None if address else _local_cluster(processes)
    with ExitStack() as stack:
        try:
            runner = stack.enter_context(DaskTaskRunner(address=address, cluster_kwargs=cluster))
            runner.client.wait_for_workers(1, timeout=_FIRST_WORKER_SECONDS)
        except (OSError, TimeoutError) as error:
            where = address or "on this machine"
            why = f"{where} cannot be used ({type(error).__name__}: {error})"
            raise ConfigError(f"The Dask cluster {without_logins(why)}.") from error
        yield runner


def _local_cluster(processes: int) -> dict[str, object]:
    return {
        "n_workers": processes,
        "threads_per_worker": 1,
        "memory_limit": 0,  # by default Dask kills a process that takes its share of the memory
        "dashboard_address": "127.0.0.1:0",  # several runs may be active
        "scheduler_kwargs": {"dashboard": False},
        "security": True,  # else every user of this machine could have the cluster run programs
        "preload": "proofsweep_tasks.dask_preload",  # it imports nothing of Prefect, so workers start soon
        "env": {"PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL"},  # their lines are in Prefect
        "silence_logs": logging.CRITICAL,
    }
