"""The cluster whose worker processes do the tasks of a run, if the settings ask for one."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from prefect.task_runners import TaskRunner

from proofsweep.errors import ConfigError
from tasks.dask_cluster import dask_runner

Runner = TaskRunner[Any]

# Bounds the wait for the first worker process of a cluster. Chosen: half may be too short for one that grows when it is
# needed, twice only delays the error.
_FIRST_WORKER_SECONDS = 120.0


@contextmanager
def started_runner(kind: str, processes: int | None, address: str | None) -> Iterator[Runner | None]:
    """Start the task runner that the settings name, `threads` or `dask`; None for the flow's own.

    Raises:
        ConfigError: Dask is not installed, or the cluster cannot be used.
    """
    if kind == "threads":
        yield None
        return
    with ExitStack() as stack:
        try:
            runner = stack.enter_context(dask_runner(processes, address))
            runner.client.wait_for_workers(1, timeout=_FIRST_WORKER_SECONDS)
        except (OSError, TimeoutError) as error:
            where = address or "on this machine"
            raise ConfigError(f"The Dask cluster {where} cannot be used ({type(error).__name__}: {error}).") from error
        yield runner
