"""Stop a run on Ctrl-C or SIGTERM: the first finishes the files in flight, the second ends the process."""

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from uuid import UUID

import httpx
from prefect import get_client
from prefect.client.schemas.objects import StateType
from prefect.exceptions import PrefectException
from prefect.runtime import flow_run
from prefect.settings import PREFECT_CLIENT_MAX_RETRIES, temporary_settings

from proofsweep.bootstrap.engines import Engine
from proofsweep.bootstrap.legs import active_legs
from proofsweep.errors import ResultsError, RunMustStop
from proofsweep.logs import Event, log
from tasks.signal_thread import OVER, next_signal, signal_thread

_EXIT_CANCELLED = 6

# Bounds the last flush of the journals. Chosen: half may be too short for a bucket, twice keeps a person waiting.
_LAST_FLUSH_SECONDS = 2.0

# Bounds the question whether somebody cancelled the flow run. Chosen: half may miss a busy server; twice, with the time
# for files in flight, comes near the 30 s after which Prefect kills a cancelled run.
_ASK_SECONDS = 3.0

STOP_ASKED = threading.Event()
"""Whether a signal has asked this process to stop. A leg may still end whole, if all its files were in flight."""


@contextmanager
def stopped_on_signals(engine: Engine) -> Iterator[None]:
    """Stop the leg at the first signal; files in flight have `drain_seconds`. End the process at the second."""
    broken = RunMustStop("The thread that receives signals failed.", ended_by="error")
    with signal_thread(lambda reader: _stop_when_asked(engine, reader), lambda _error: engine.stop.pull(broken)):
        yield


def _stop_when_asked(engine: Engine, reader: socket.socket) -> None:
    first = next_signal(reader)
    if first == OVER:
        return
    STOP_ASKED.set()
    log(Event.STOP_REQUESTED, signal=signal.Signals(first).name)
    if first == signal.SIGTERM and not _is_cancelled_in_prefect():
        engine.stop.pull(RunMustStop("The process was asked to end (SIGTERM).", ended_by="interrupted"))
    else:
        engine.stop.pull(RunMustStop("The run was asked to stop.", ended_by="cancelled"))
    try:
        second = next_signal(reader, engine.settings.bounds.drain_seconds)
    except TimeoutError:
        engine.abort()
        second = next_signal(reader)
    if second != OVER:
        _exit_now()


def _is_cancelled_in_prefect() -> bool:
    """Say whether somebody cancels this process's flow run; then its worker sends SIGTERM, as at its own end."""
    flow_run_id = flow_run.get_id()  # a thread without context: the one that the worker has started, no part of it
    if flow_run_id is None:
        return False
    once = temporary_settings({PREFECT_CLIENT_MAX_RETRIES: 0})
    try:
        with once, get_client(sync_client=True, httpx_settings={"timeout": _ASK_SECONDS}) as client:
            return client.read_flow_run(UUID(flow_run_id)).state_type is StateType.CANCELLING
    except (httpx.HTTPError, PrefectException):
        return False


def _exit_now() -> None:
    """End the process; flush the journals first, if the store takes them in time."""
    flush = threading.Thread(target=_flush_journals, daemon=True)
    flush.start()
    flush.join(_LAST_FLUSH_SECONDS)
    for leg in active_legs():
        command = f"proofsweep resume {leg.plan.run_id} (and the options of this command)"
        sys.stderr.write(f"\nproofsweep: Ended at once. Finished files are kept. Continue with: {command}\n")
    sys.stderr.flush()
    os._exit(_EXIT_CANCELLED)


def _flush_journals() -> None:
    for leg in active_legs():
        with suppress(ResultsError):
            leg.journal.flush()
