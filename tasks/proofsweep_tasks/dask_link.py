"""What Dask carries between the process that claimed a leg and a worker process: an event that ends it, and counts."""

from proofsweep.app import LegHandle
from proofsweep.verify.worker_process import IsOver

UNREACHABLE = (OSError, TimeoutError, RuntimeError)
"""What Dask raises if its scheduler cannot be reached, or its client is closed."""


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
