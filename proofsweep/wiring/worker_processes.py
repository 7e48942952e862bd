"""Worker processes of a leg, wired: what this process does for a leg that another process holds."""

import math
import socket
import threading
from collections.abc import Callable
from pathlib import Path

from proofsweep import __version__
from proofsweep.errors import ConfigError, ResultsError
from proofsweep.files.locations import is_bucket
from proofsweep.model.runs import Plan
from proofsweep.settings import Settings
from proofsweep.verify.budget.bounds import Bounds
from proofsweep.verify.budget.budget import LAST_PROBE_CALLS
from proofsweep.verify.leg.worker_process import GrantedBudget, GrantedSlice, IsOver, SliceResult, WorkerProcess
from proofsweep.wiring.engines import Engine, ReadBlock, build_engine, utc_now
from proofsweep.wiring.legs import LegHandle, build_context, remember_rate

_lock = threading.Lock()
_processes: dict[LegHandle, WorkerProcess] = {}


def verify_granted(
    handle: LegHandle, granted: GrantedSlice, link: Callable[[], IsOver], read_block: ReadBlock | None = None
) -> SliceResult:
    """Verify a slice in this process, for a leg that another one holds; the first slice begins this process's part.

    Raises:
        ConfigError, ResultsError: this process cannot work for the leg; the message names the machine.
    """
    with _lock:
        if handle not in _processes or _processes[handle].leg.stop.reason is not None:
            try:
                _processes[handle] = _begin(handle, link(), read_block)
            except (ConfigError, ResultsError) as error:
                raise type(error)(f"{error.message} (in a worker process on {socket.gethostname()})") from error
        process = _processes[handle]
    return process.verify(granted)


def _begin(handle: LegHandle, is_over: IsOver, read_block: ReadBlock | None) -> WorkerProcess:
    if handle.version != __version__:
        raise ConfigError(f"This is proofsweep {__version__}, but the run was begun by proofsweep {handle.version}.")
    engine = build_engine(_share_of(handle.settings, handle.processes), read_block)
    bounds = Bounds(closes_at=handle.bounds.closes_at, max_calls=LAST_PROBE_CALLS)  # others come with slices
    budget = GrantedBudget(bounds, engine.partner.for_control(), engine.stop, utc_now)
    leg = build_context(handle, engine, budget, is_claimant=False)
    _refuse_missing_catalog(leg.plan)
    remember_rate(engine, leg.results, handle.processes)
    drain_seconds = engine.settings.bounds.drain_seconds
    process = WorkerProcess(leg=leg, budget=budget, is_over=is_over, abort=engine.abort, drain_seconds=drain_seconds)
    threading.Thread(target=_follow, args=(handle, process, engine), name="leg", daemon=True).start()
    return process


def _follow(handle: LegHandle, process: WorkerProcess, engine: Engine) -> None:
    """Follow the leg to its end; then forget it, since a process of a cluster works for many legs."""
    try:
        process.follow()
    finally:
        with _lock:
            if _processes.get(handle) is process:
                del _processes[handle]
        engine.close()


def _share_of(settings: Settings, processes: int) -> Settings:
    """Return each process its share of the items in flight, and of the rate with which a run begins."""
    pace = settings.pace
    share = {"workers": math.ceil(pace.workers / processes), "first_rate": pace.first_rate / processes}
    return settings.model_copy(update={"pace": pace.model_copy(update=share)})


def _refuse_missing_catalog(plan: Plan) -> None:
    """Refuse to work where the catalog's folder is not mounted: each of its files would count as missing."""
    if not (is_bucket(plan.catalog) or "*" in plan.catalog or Path(plan.catalog).exists()):
        where = "a folder must be mounted at the same place everywhere"
        raise ConfigError(f"The catalog {plan.catalog} is not there: {where}.")
