"""What Dask carries between the process that holds a leg and its worker processes: a stop event, and counts."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event as ThreadEvent
from typing import TYPE_CHECKING

from proofsweep.bootstrap.legs import LegHandle
from proofsweep.domain.worker_slices import ProcessCounts
from proofsweep.errors import RunMustStop
from proofsweep.usecases.leg.background import beside
from proofsweep.usecases.leg.leg_context import LegContext
from proofsweep.usecases.leg.slice_queue import SliceQueue

if TYPE_CHECKING:
    from dask.distributed import Client, Event

# How soon a request to stop is passed on. Chosen: half wakes the thread twice as often; at twice a person notices it.
_STEP_SECONDS = 0.25

_UNREACHABLE = (OSError, TimeoutError, RuntimeError)
"""What Dask raises if its scheduler cannot be reached, or its client is closed."""


class DaskLink:
    """A worker process's end: it is made in a task, and used by other threads too."""

    def __init__(self, handle: LegHandle) -> None:
        """Find the worker and the scheduler of the task that runs now."""
        from dask.distributed import Event, get_client, get_worker  # noqa: PLC0415 - an optional part

        self._worker, self._name = get_worker(), _name_of(handle)
        self._over = Event(self._name, get_client())  # type: ignore[no-untyped-call]

    def is_over(self, seconds: float) -> bool:
        """Wait for so long; say whether the leg ends, or the scheduler has taken this process's tasks away."""
        try:
            is_set = self._over.wait(seconds) if seconds else self._over.is_set()  # type: ignore[no-untyped-call]
        except _UNREACHABLE:
            return True
        tasks = list(self._worker.state.tasks.values())
        return is_set or self._worker.status.name != "running" or any(task.state == "cancelled" for task in tasks)

    def tell(self, counts: dict[str, object]) -> None:
        """Send counts to whoever follows the leg's topic."""
        self._worker.log_event(self._name, counts)


@contextmanager
def linked(handle: LegHandle, leg: LegContext, client: "Client", queue: SliceQueue) -> Iterator[None]:
    """Take the counts of worker processes inside; tell them when the leg must stop, and at the end that it is over."""
    from dask.distributed import Event  # noqa: PLC0415 - an optional part

    name = _name_of(handle)
    over = Event(name, client)  # type: ignore[no-untyped-call]
    client.subscribe_topic(name, lambda event: queue.note(ProcessCounts(**event[1])))  # type: ignore[no-untyped-call]

    def pass_on(is_done: ThreadEvent) -> None:
        while leg.stop.reason is None and not is_done.wait(_STEP_SECONDS):
            pass
        _set(over)

    broken = RunMustStop("The thread that stops worker processes failed.", ended_by="error")
    with beside("stop", pass_on, lambda _error: leg.stop.pull(broken)):
        yield


def _set(event: "Event") -> None:
    with suppress(*_UNREACHABLE):
        event.set()  # type: ignore[no-untyped-call]


def _name_of(handle: LegHandle) -> str:
    return f"proofsweep-{handle.run_id}-{handle.leg}"
