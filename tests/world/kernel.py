"""The kernel of a world: virtual threads, virtual time, and one seed for all that chance decides.

Everything happens in one thread of the system. A task, which is a virtual thread, runs until it waits; then the world
draws which of the ready tasks goes on. If none is ready, the time jumps to the next deadline. A process is a group of
tasks that is killed or frozen as a whole.
"""

import heapq
import math
import random
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from greenlet import getcurrent, greenlet

EPOCH = 1_790_000_000.0  # the true time at the beginning of each world, in Unix seconds
_MOST_STEPS = 400_000  # of one world; who takes more goes round in a circle
_LEAST_SECONDS = 1e-6  # of a wait: a shorter one might end at the same number of seconds, and so never
_LOCAL_HOST = "one"


class Dead(BaseException):
    """Ends a task whose process is dead. What the task still does on its way out counts for nothing."""


class StuckError(Exception):
    """The world goes round in a circle, or nothing in it will ever go on."""


@dataclass(eq=False)
class Process:
    """A process of the world, on a host of that name, whose clock is `skew` seconds ahead of the true time."""

    name: str
    pid: int
    host: str = _LOCAL_HOST
    skew: float = 0.0
    started_at: float = 0.0
    tasks: list["Task"] = field(default_factory=list)
    parked: list["Task"] = field(default_factory=list)  # ready, but frozen
    locks: dict[int, object] = field(default_factory=dict)  # its own instances of the locks of modules
    dead_at: float | None = None  # when it last did anything, before it was killed
    ended_at: float | None = None
    frozen_at: float | None = None
    first_frozen_at: float | None = None
    frozen: list[tuple[float, float]] = field(default_factory=list)  # from when to when, of those that it went on after
    writes: int = 0  # to the store
    requests: int = 0  # to the store
    fails_at_request: int | None = None  # which of them the store fails, alone
    dies_at_write: tuple[int, bool] | None = None  # at which write, and whether the write has happened before
    steps: int = 0  # on the disk, in moves of files
    dies_at_step: tuple[int, bool] | None = None  # likewise
    error: BaseException | None = None  # that ended its main task

    @property
    def is_dead(self) -> bool:
        return self.dead_at is not None

    @property
    def is_over(self) -> bool:
        return self.is_dead or self.ended_at is not None

    @property
    def was_frozen(self) -> bool:
        return self.first_frozen_at is not None

    def had_left(self, seconds: float, until: float) -> float:
        """Return when it had so many seconds left until a time. Those in which it was frozen do not count."""
        for since, thawed_at in reversed(self.frozen):
            if until - seconds < thawed_at <= until:
                seconds -= until - thawed_at
                until = since
        return until - seconds

    def __str__(self) -> str:
        return self.name


@dataclass(eq=False)
class Task:
    process: Process
    name: str
    ident: int
    greenlet: greenlet
    waits: int = 0  # counts its waits, so that a late wake-up of an earlier wait is told apart
    was_woken: bool = False
    is_done: bool = False

    def __str__(self) -> str:
        return f"{self.process}/{self.name}"


class World:
    """One world. Each kind of chance has a stream of its own: a fault that is left out changes no other draw."""

    def __init__(self, seed: str, *, pause_share: float = 0.05) -> None:
        global _world  # noqa: PLW0603 - the virtual threads of the core must find their world
        _world = self
        self._seed = seed
        self._streams: dict[str, random.Random] = {}
        self.order = self.stream("order")  # decides which task goes on
        self.now, self.steps = 0.0, 0
        self.current: Task | None = None
        self.processes: list[Process] = []
        self.errors: list[str] = []  # of threads that nobody waits for
        self.is_over = False
        self.lines: list[str] = []
        self.digest = 0
        self._pause_share = pause_share
        self._ready: list[Task] = []
        self._deadlines: list[tuple[float, int, Task | None, int, Callable[[], object] | None]] = []
        self._serial = 0
        self._hub = getcurrent()

    def stream(self, name: str) -> random.Random:
        """Return the chance of one kind, drawn from the seed."""
        return self._streams.setdefault(name, random.Random(f"{self._seed} {name}"))

    # --- Tasks

    def start(self, process: Process, work: Callable[[], object], name: str) -> Task:
        """Let a task of a process begin; its error is kept as the world's, unless the task keeps it itself."""
        self._serial += 1

        def run() -> None:
            try:
                work()
            except (Dead, SystemExit):
                pass
            except BaseException as error:  # noqa: BLE001 - whatever ends a thread is looked at by the checks
                self.errors.append(f"{task}: {type(error).__name__}: {error}")
            finally:
                task.is_done = True

        task = Task(process, name, self._serial, greenlet(run, self._hub))
        process.tasks.append(task)
        self._ready.append(task)
        return task

    def wait(self, until: float = math.inf) -> bool:
        """Let the current task wait for its wake-up, or for a time; return whether it was woken."""
        task = self.require_life()
        task.waits += 1
        task.was_woken = False
        if until < math.inf:
            self._add_deadline(max(until, self.now + _LEAST_SECONDS), task, task.waits, None)
        self._hub.switch()
        self.require_life()
        return task.was_woken

    def wake(self, task: Task, wait: int) -> bool:
        """Let a task go on if it is still in this wait of its own."""
        if task.is_done or task.waits != wait or task.process.is_dead:
            return False
        task.waits += 1
        task.was_woken = True
        self._ready.append(task)
        return True

    def sleep(self, seconds: float) -> None:
        if self.current is not None:
            self.wait(self.now + max(seconds, 0.0))

    def may_pause(self) -> None:
        """Let others go on here, now and then: between two steps a real thread may lose its processor."""
        if self.current is not None and self.order.random() < self._pause_share:
            self.sleep(0.0)

    def require_life(self) -> Task:
        """Return the current task; Dead if its process was killed or the world is over."""
        task = self.current
        if task is None:
            raise StuckError("only a task can wait")
        if self.is_over or task.process.is_dead:
            raise Dead
        return task

    def at(self, when: float, act: Callable[[], object]) -> None:
        """Let something happen at a time, outside of all processes."""
        self._add_deadline(max(when, self.now), None, 0, act)

    def _add_deadline(self, when: float, task: Task | None, wait: int, act: Callable[[], object] | None) -> None:
        self._serial += 1
        heapq.heappush(self._deadlines, (when, self._serial, task, wait, act))

    # --- Processes

    def process(self, name: str, *, host: str = _LOCAL_HOST, skew: float = 0.0) -> Process:
        process = Process(name, 100 + len(self.processes), host, skew, self.now)
        self.processes.append(process)
        return process

    def run_process(self, process: Process, work: Callable[[], object]) -> None:
        """Let a process begin its main task; its end is the end of the process."""

        def main() -> None:
            try:
                work()
            except Exception as error:  # noqa: BLE001 - how it ended is looked at by the checks
                process.error = error
                self.tell("ends with", type(error).__name__, str(error))
            if not process.is_dead:
                process.ended_at = self.now

        self.start(process, main, "main")

    def kill(self, process: Process) -> None:
        if not process.is_over:
            process.dead_at = self.now if process.frozen_at is None else process.frozen_at
            self.tell("KILLED", of=process)

    def die(self) -> None:
        """Kill the process of the current task, here."""
        self.kill(self.require_life().process)
        raise Dead

    def freeze(self, process: Process, seconds: float) -> None:
        if process.is_over or process.frozen_at is not None:
            return
        process.frozen_at = self.now
        process.first_frozen_at = process.first_frozen_at or self.now
        self.tell(f"FROZEN for {seconds:.1f} s", of=process)
        self.at(self.now + seconds, lambda: self._thaw(process))

    def _thaw(self, process: Process) -> None:
        if process.frozen_at is not None:
            process.frozen.append((process.frozen_at, self.now))
        process.frozen_at = None
        self.tell("goes on", of=process)
        self._ready += process.parked
        process.parked.clear()

    # --- The loop

    def run(self, until: float, is_enough: Callable[[], bool] = lambda: False) -> None:
        """Play until a time, or until it is enough. StuckError if no task will ever go on before."""
        self._hub = getcurrent()
        while not is_enough():
            if self._ready:
                self._step()
                continue
            if not self._deadlines:
                raise StuckError(f"nothing will ever go on: {self._waiting()}")
            when, _, task, wait, act = self._deadlines[0]
            if when > until:
                self.now = max(self.now, until)
                return
            heapq.heappop(self._deadlines)
            self.now = max(self.now, when)
            if act is not None:
                act()
            elif task is not None and task.waits == wait and not task.is_done:
                task.waits += 1
                self._ready.append(task)

    def _step(self) -> None:
        """Draw one of the ready tasks, and let it go on to its next wait."""
        chosen = int(self.order.random() * len(self._ready))
        self._ready[chosen], self._ready[-1] = self._ready[-1], self._ready[chosen]
        task = self._ready.pop()
        if task.is_done or task.process.is_dead:
            return
        if task.process.frozen_at is not None:
            task.process.parked.append(task)
            return
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise StuckError(f"it goes round in a circle at {self.now:.3f} s: {self._waiting()}")
        self.current = task
        try:
            task.greenlet.switch()
        finally:
            self.current = None

    def _waiting(self) -> str:
        tasks = (task for process in self.processes if not process.is_over for task in process.tasks)
        return ", ".join(str(task) for task in tasks if not task.is_done)

    def end(self) -> None:
        """Let all tasks end where they stand."""
        self.is_over = True
        for process in self.processes:
            for task in process.tasks:
                self.current = task
                while not task.greenlet.dead:
                    with suppress(BaseException):
                        task.greenlet.throw(Dead)
        self.current = None

    # --- Its story

    def tell(self, *words: object, of: object = None) -> None:
        """Add a line to the story: when, who, what."""
        who = of or self.current or "world"
        line = f"{self.now:12.6f}  {who!s:24} {' '.join(map(str, words))}"
        self.digest = zlib.crc32(line.encode("utf-8", "replace"), self.digest)
        self.lines.append(line)

    def next_serial(self) -> int:
        self._serial += 1
        return self._serial


_world = World("before the first")


def here() -> World:
    return _world


def current_process() -> Process | None:
    task = _world.current
    return None if task is None else task.process


def monotonic() -> float:
    """Return the seconds since the current process began, as its own clock that never jumps tells them."""
    process = current_process()
    return _world.now if process is None else _world.now - process.started_at + process.pid


def unix_time() -> float:
    """Return the Unix seconds by the wall clock of the current process's host."""
    process = current_process()
    return EPOCH + _world.now + (0.0 if process is None else process.skew)
