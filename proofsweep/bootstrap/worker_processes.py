"""Worker processes of a leg, wired: what this process does for a leg that another process holds."""

import math
import socket
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from proofsweep import __version__
from proofsweep.bootstrap.engines import Engine, ReadBlock, build_engine, utc_now
from proofsweep.bootstrap.legs import LegHandle, build_context, leg_held_here
from proofsweep.domain.runs import Plan, Slice
from proofsweep.errors import ConfigError, ResultsError
from proofsweep.settings import Settings
from proofsweep.storage.locations import is_bucket
from proofsweep.storage.results.lease import own_claim
from proofsweep.storage.results.worker_messages import WorkerMessages
from proofsweep.usecases.leg.granted_budget import GrantedBudget
from proofsweep.usecases.leg.last_rate import last_rate
from proofsweep.usecases.leg.leg_context import LegContext
from proofsweep.usecases.leg.work import verify_slice
from proofsweep.usecases.leg.worker_heartbeat import WorkerHeartbeat
from proofsweep.usecases.leg.worker_process import WorkerProcess

_lock = threading.Lock()
_processes: dict[LegHandle, WorkerProcess] = {}


def work_on(handle: LegHandle, read_block: ReadBlock | None = None) -> tuple[Plan, Callable[[Slice], int]]:
    """Give the plan of a leg's run, and what verifies a slice of it in this process.

    Raises:
        ConfigError, ResultsError: this process cannot work for the leg; the message names the machine.
    """
    leg = leg_held_here(handle)
    if leg is not None:
        return leg.plan, lambda piece: verify_slice(leg, piece)
    process = _process_for(handle, read_block)
    return process.leg.plan, process.verify


def _process_for(handle: LegHandle, read_block: ReadBlock | None) -> WorkerProcess:
    """Give this process's part in a leg; the first task begins it, and it ends by itself when the leg is over."""
    with _lock:
        if handle not in _processes:
            try:
                _processes[handle] = _begin(handle, read_block)
            except (ConfigError, ResultsError) as error:
                raise type(error)(f"{error.message} (in a worker process on {socket.gethostname()})") from error
        return _processes[handle]


def _begin(handle: LegHandle, read_block: ReadBlock | None) -> WorkerProcess:
    if handle.version != __version__:
        raise ConfigError(f"This is proofsweep {__version__}, but the run was begun by proofsweep {handle.version}.")
    engine = build_engine(_share_of(handle.settings, handle.processes), read_block)
    budget = GrantedBudget(handle.bounds, engine.partner.for_control(), engine.stop, utc_now)
    leg = build_context(handle, engine, budget, WorkerHeartbeat)
    _refuse_missing_catalog(leg.plan)
    _remember_rate(engine, leg, handle.processes)
    process = WorkerProcess(
        leg=leg,
        budget=budget,
        messages=WorkerMessages(leg.results.store, handle.run_id, handle.leg),
        identity=own_claim(leg.heartbeat.legs.now(), {}),
        abort=engine.abort,
        drain_seconds=engine.settings.bounds.drain_seconds,
    )
    if isinstance(leg.heartbeat, WorkerHeartbeat):
        leg.heartbeat.exchange = process.exchange
    threading.Thread(target=_follow, args=(handle, process, engine), name="leg", daemon=True).start()
    return process


def _follow(handle: LegHandle, process: WorkerProcess, engine: Engine) -> None:
    """Follow the leg to its end; then forget it, since a process of a cluster works for many legs."""
    try:
        process.follow()
    finally:
        with _lock:
            _processes.pop(handle, None)
        engine.close()


def _share_of(settings: Settings, processes: int) -> Settings:
    """Give each process its share of the items in flight, and of the rate with which a run begins."""
    pace = settings.pace
    share = {"workers": math.ceil(pace.workers / processes), "first_rate": pace.first_rate / processes}
    return settings.model_copy(update={"pace": pace.model_copy(update=share)})


def _remember_rate(engine: Engine, leg: LegContext, processes: int) -> None:
    """Begin with this process's share of the rate that an earlier leg learned."""
    settings, since = engine.settings, utc_now() - timedelta(days=engine.settings.pace.remember_days)
    rate = last_rate(leg.results, settings.service.base_url, engine.key_fingerprint, since)
    engine.dispatcher.remember(None if rate is None else rate / processes)


def _refuse_missing_catalog(plan: Plan) -> None:
    """Refuse to work where the catalog's folder is not mounted: each of its files would count as missing."""
    if is_bucket(plan.catalog) or "*" in plan.catalog or Path(plan.catalog).exists():
        return
    raise ConfigError(
        f"The catalog {plan.catalog} is not there: a folder must be mounted at the same place everywhere."
    )
