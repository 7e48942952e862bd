"""Worker processes of a leg that another process holds: the slices that they are granted, and their part in it."""

import socket
import threading
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path

from proofsweep import __version__
from proofsweep.config.locations import is_bucket
from proofsweep.config.logs import Event, log
from proofsweep.config.threads import background_thread
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ConfigError, NameTaken, ResultsError, RunMustStop
from proofsweep.domain.headers import MOST_CALLS_PER_ITEM
from proofsweep.domain.runs import Bounds, Plan
from proofsweep.store import layout
from proofsweep.store.journal import FLUSH_SECONDS, delete_journal
from proofsweep.store.parts import Results
from proofsweep.verify.budget import LAST_PROBE_CALLS, BudgetGuard
from proofsweep.verify.lane_sharing import lane_sharing, remembered_rate
from proofsweep.verify.service import Service
from proofsweep.verify.session import LegContext, leg_context
from proofsweep.verify.worker import verify_batch

_MOST_LOST = 4  # a slice whose worker processes are lost so often would lose all


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantedSlice:
    """A batch with the keyed calls that may be made for it; `attempt` is how often it was given away before."""

    rows: range
    calls: int
    attempt: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceResult:
    is_done: bool = False  # nothing of it is left but what is in doubt
    is_lost: bool = False  # another process had begun this attempt, and was lost; its calls count as spent
    calls: int = 0  # keyed calls that the process made since its last result; what is left of the grant is free again
    stop: RunMustStop | None = None  # why the process must end the leg; None if it need not


class SliceQueue:
    """The slices of a leg that wait for a worker process; used by one thread."""

    def __init__(self, leg: LegContext, batches: Iterable[range]) -> None:
        self._leg = leg
        self._waiting = deque((rows, 0) for rows in batches)
        self._lost: Counter[range] = Counter()

    def grant(self, slots: int) -> GrantedSlice | None:
        """Return the next slice with its share of the calls that are left for so many slices; None if none may begin.

        It is None too while other slices hold the calls.
        """
        if not self._waiting or self._leg.stop.reason is not None:
            return None
        left = self._leg.budget.grantable()
        if left is not None and left < MOST_CALLS_PER_ITEM:
            return None
        rows, attempt = self._waiting.popleft()
        calls = MOST_CALLS_PER_ITEM * len(rows)
        if left is not None:
            calls = min(calls, max(MOST_CALLS_PER_ITEM, left // slots))
        self._leg.budget.count_slice(granted=calls)
        return GrantedSlice(rows=rows, calls=calls, attempt=attempt)

    def take(self, granted: GrantedSlice, result: SliceResult) -> None:
        """Take what became of a slice; what is left of it waits again. A lost attempt has spent all its calls."""
        leg, rows = self._leg, granted.rows
        leg.budget.count_slice(granted=-granted.calls, spent=result.calls + granted.calls * result.is_lost)
        if result.is_lost:
            log(Event.WORKER_LOST, run_id=leg.plan.run_id, leg=leg.leg, first_row=rows.start)
            self._lost[rows] += 1
        stop = result.stop
        if self._lost[rows] >= _MOST_LOST:
            why = f"{_MOST_LOST} worker processes that worked on rows {rows.start} to {rows.stop} were lost."
            stop = RunMustStop(why, ended_by=EndedBy.ERROR)
        if stop is not None:
            leg.stop.pull(stop)
        if not result.is_done:
            self._waiting.append((rows, granted.attempt + 1))


IsOver = Callable[[dict[str, object], float], bool]
"""Tells counts to the process that holds the leg, waits for so many seconds, and returns whether the leg is over."""

Close = Callable[[], None]  # closes what a process had opened for a leg that is over

_OVER = RunMustStop("The leg is over for this process.", ended_by=EndedBy.ERROR)

BATCHES_AT_ONCE = 2  # of a process; one begins while the last items of the other are in flight


class GrantedBudget(BudgetGuard):
    """Lets items begin while granted calls are left; else they remain, and their slice comes back."""

    refused = 0  # items that could not begin so far
    _reported = 0

    def hand_back(self, calls: int) -> int:
        """End a slice that came with so many calls: what is left of them goes. Return the calls made since the last."""
        with self._lock:
            made, self._reported = self._budget.spent - self._reported, self._budget.spent
            self.count_slice(granted=min(calls, self._budget.grantable() or 0))
            return made

    def _run_out(self, shortage: EndedBy) -> None:  # noqa: ARG002 - only calls can run out here
        """Let the item remain: the process that holds the leg decides whether calls are left."""
        with self._lock:
            self.refused += 1


@dataclass(slots=True, kw_only=True)
class WorkerProcess:
    """One worker process of a leg; safe to use from several threads."""

    # the leg as this process sees it, with an engine and a journal of its own; `budget` is that of `leg`.
    leg: LegContext
    budget: GrantedBudget
    is_over: IsOver
    abort: Callable[[], None]
    drain_seconds: float  # time that items in flight have when the leg is over
    _batches: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(BATCHES_AT_ONCE))

    def verify(self, granted: GrantedSlice) -> SliceResult:
        """Work through a slice in its turn, and write everything down before the task ends."""
        stop, is_done, is_lost = self.leg.stop, False, False
        with self._batches:
            refused = self.budget.refused
            self.budget.count_slice(granted=-granted.calls)  # here they are received
            try:
                with suppress(RunMustStop):
                    self._tell(0.0)
                    stop.check()
                    is_lost = self._work(granted)
                    is_done = not is_lost and self.budget.refused == refused and stop.reason is None
            finally:
                calls = self.budget.hand_back(granted.calls)
                self._tell(0.0)
        reason = None if stop.reason is _OVER else stop.reason
        return SliceResult(is_done=is_done, is_lost=is_lost, calls=calls, stop=reason)

    def follow(self) -> None:
        """Keep the journal and tell counts until the leg is over; then let the items in flight end."""
        with background_thread("heartbeat", self.leg.heartbeat.keep, self.leg.stop.pull):
            while self.leg.stop.reason is None:
                self._tell(FLUSH_SECONDS)
            timer = threading.Timer(self.drain_seconds, self.abort)
            timer.start()
            for _ in range(BATCHES_AT_ONCE):  # they are free when no slice is worked on
                self._batches.acquire()
            timer.cancel()
            self._batches.release(BATCHES_AT_ONCE)
        leg = self.leg
        with suppress(ResultsError):
            if leg.heartbeat.is_settled():  # it was settled without this process
                delete_journal(leg.results.store, leg.plan.run_id, leg.leg)

    def _tell(self, seconds: float) -> None:
        """Tell what this process has done since the last time; stop if the leg is over within these seconds."""
        lane = asdict(replace(self.leg.dispatcher.status(), rate_change=None))
        known = {"writer": self.leg.journal.writer, "lane": lane, "in_flight": self.budget.in_flight}
        if self.is_over(self.leg.counters.hand_over() | known, seconds):
            self.leg.stop.pull(_OVER)

    def _work(self, granted: GrantedSlice) -> bool:
        leg, rows, store = self.leg, granted.rows, self.leg.results.store
        begun = layout.begun_name(leg.plan.run_id, leg.leg, rows.start, granted.attempt)
        try:
            if leg.control.ask_store(partial(store.read, begun)) is not None:
                return True  # Dask runs its task again
            leg.control.ask_store(partial(store.create, begun, leg.journal.writer.encode()))
        except NameTaken:  # in another process
            return True
        if granted.attempt:  # other processes have begun it
            leg.control.ask_store(leg.completed.read)
        verify_batch(leg, rows)
        leg.trail.write_unattributed()
        leg.control.ask_store(leg.journal.flush)
        return False


class WorkerProcesses:
    """The parts that this process has in legs which others hold, by the legs' handles."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: dict[Hashable, WorkerProcess] = {}

    def of(self, handle: Hashable, begin: Callable[[], tuple[WorkerProcess, Close]]) -> WorkerProcess:
        """Return this process's part in a leg; `begin` gives a new one, and what closes it when the leg is over.

        Raises:
            ConfigError, ResultsError: it cannot be begun; the message names the machine.
        """
        with self._lock:
            if handle not in self._processes or self._processes[handle].leg.stop.reason is not None:
                try:
                    process, close = begin()
                except (ConfigError, ResultsError) as error:
                    raise type(error)(f"{error.message} (in a worker process on {socket.gethostname()})") from error
                self._processes[handle] = process
                threading.Thread(target=self._follow, args=(handle, process, close), name="leg", daemon=True).start()
            return self._processes[handle]

    def _follow(self, handle: Hashable, process: WorkerProcess, close: Close) -> None:
        """Follow the leg to its end; then forget it, since a process of a cluster works for many legs."""
        try:
            process.follow()
        finally:
            with self._lock:
                if self._processes.get(handle) is process:
                    del self._processes[handle]
            close()


PROCESSES = WorkerProcesses()


def refuse_other_version(version: str) -> None:
    if version != __version__:
        raise ConfigError(f"This is proofsweep {__version__}, but the run was begun by proofsweep {version}.")


def refuse_missing_catalog(plan: Plan) -> None:
    """Refuse to work where the catalog's folder is not mounted: each of its files would count as missing."""
    if not (is_bucket(plan.catalog) or "*" in plan.catalog or Path(plan.catalog).exists()):
        where = "a folder must be mounted at the same place everywhere"
        raise ConfigError(f"The catalog {plan.catalog} is not there: {where}.")


def join_leg(
    service: Service,
    results: Results,
    run_id: str,
    leg: int,
    *,
    bounds: Bounds,
    dedupe: bool,
    processes: int,
    drain_seconds: float,
    is_over: IsOver,
    close: Close,
) -> tuple[WorkerProcess, Close]:
    """Work for a leg that another process holds; return this process's part in it, and what closes it."""
    plan = results.plan(run_id)
    own = Bounds(closes_at=bounds.closes_at, max_calls=LAST_PROBE_CALLS)  # others come with slices
    budget = GrantedBudget(own, service.partner.for_control(), service.stop, service.clock)
    context = leg_context(service, results, plan, leg, budget, dedupe=dedupe, is_holder=False)
    context.completed.read()
    refuse_missing_catalog(plan)
    service.dispatcher.remember(remembered_rate(results, service, processes))
    stack = ExitStack()
    stack.callback(close)
    stack.enter_context(lane_sharing(results, service, plan).shared())
    process = WorkerProcess(
        leg=context, budget=budget, is_over=is_over, abort=service.abort, drain_seconds=drain_seconds
    )
    return process, stack.close
