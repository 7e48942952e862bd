"""The Dask cluster whose worker processes do the tasks of a run, if the settings ask for one, and its link to them."""

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from urllib.parse import urlsplit

from prefect.settings import PREFECT_API_URL
from prefect.task_runners import TaskRunner

from proofsweep.app import LegHandle
from proofsweep.domain.errors import ConfigError, missing_extra
from proofsweep.verify.worker_process import BATCHES_AT_ONCE, IsOver

Runner = TaskRunner[Any]

UNREACHABLE = (OSError, TimeoutError, RuntimeError)
"""What Dask raises if its scheduler cannot be reached, or its client is closed."""

_FIRST_WORKER_SECONDS = 120.0  # bounds the wait for the first worker process of a cluster


@contextmanager
def started_runner(kind: str, processes: int | None, address: str | None) -> Iterator[Runner | None]:
    """Start the task runner that the settings name, `threads` or `dask`; None for the flow's own.

    ConfigError if Dask is not installed, or the cluster cannot be used.
    """
    if kind == "threads":
        yield None
        return
    try:
        from dask.system import CPU_COUNT  # noqa: PLC0415 - an extra
        from prefect_dask.task_runners import DaskTaskRunner  # noqa: PLC0415 - the same
    except ImportError as error:
        raise missing_extra("runner = 'dask'", "dask") from error

    if address is not None:
        _refuse_local_server(address, PREFECT_API_URL.value() or "")
    cluster = None if address else _local_cluster(processes or CPU_COUNT)
    with ExitStack() as stack:
        try:
            runner = stack.enter_context(DaskTaskRunner(address=address, cluster_kwargs=cluster))
            runner.client.wait_for_workers(1, timeout=_FIRST_WORKER_SECONDS)
        except (OSError, TimeoutError) as error:
            where = address or "on this machine"
            raise ConfigError(f"The Dask cluster {where} cannot be used ({type(error).__name__}: {error}).") from error
        yield runner


def _local_cluster(processes: int) -> dict[str, object]:
    return {
        "n_workers": processes,
        "threads_per_worker": BATCHES_AT_ONCE,
        "memory_limit": 0,  # by default Dask kills a process that takes its share of the memory
        "dashboard_address": "127.0.0.1:0",  # several runs may be active
        "scheduler_kwargs": {"dashboard": False},
        "security": True,  # else every user of this machine could have the cluster run programs
        "preload": "proofsweep_tasks.dask_preload",  # it imports nothing of Prefect, so workers start soon
        "env": {"PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL"},  # their lines are in Prefect
        "silence_logs": logging.CRITICAL,
    }


def _refuse_local_server(address: str, server: str) -> None:
    local = {"localhost", "127.0.0.1", "::1"}
    if urlsplit(server).hostname in local and urlsplit(address).hostname not in local:
        raise ConfigError(
            f"The worker processes of {address} cannot reach the Prefect server {server}, which serves this machine "
            "only: set PREFECT_API_URL to one that all machines reach (or dask.address to a loopback address)."
        )


def name_of(handle: LegHandle) -> str:
    """Name a leg's event, which is set when the leg is over, and its topic, which has the counts."""
    return f"proofsweep-{handle.run_id}-{handle.leg}"


def worker_link(handle: LegHandle) -> IsOver:
    """Link this worker process to its leg. It is made in a task, and used by other threads too."""
    from dask.distributed import Event, get_client, get_worker  # noqa: PLC0415 - an optional part

    worker, name = get_worker(), name_of(handle)
    over = Event(name, get_client())  # type: ignore[no-untyped-call]

    def is_over(counts: dict[str, object], seconds: float) -> bool:
        try:
            worker.log_event(name, counts)
            is_set = over.wait(seconds) if seconds else over.is_set()  # type: ignore[no-untyped-call]
        except UNREACHABLE:
            return True
        tasks = list(worker.state.tasks.values())  # the scheduler may have taken them away
        return is_set or worker.status.name != "running" or any(task.state == "cancelled" for task in tasks)

    return is_over
