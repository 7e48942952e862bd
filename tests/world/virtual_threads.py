"""Virtual threads in the words of `threading`, `queue`, `time` and `concurrent.futures`.

Each class does what the one of its name in the standard library does, over tasks of the world. Executors and futures
are the standard library's own, executed once more over these.
"""

import importlib.util
import logging
import sys
import threading as real_threading
import time as real_time
import types
from collections import deque
from collections.abc import Callable
from typing import Any

import kernel
from kernel import Dead, Process, Task, here

TIMEOUT_MAX = real_threading.TIMEOUT_MAX


def _until(timeout: float | None) -> float:
    return float("inf") if timeout is None or timeout < 0 else here().now + timeout


class _Waiters:
    """Tasks that wait for one thing. One that was killed meanwhile is never woken in the place of a live one."""

    def __init__(self) -> None:
        self._tasks: deque[tuple[Task, int]] = deque()

    def wait(self, until: float) -> bool:
        task = here().require_life()
        mine = (task, task.waits + 1)
        self._tasks.append(mine)
        try:
            return here().wait(until)
        finally:
            if mine in self._tasks:
                self._tasks.remove(mine)

    def wake(self, count: int) -> None:
        """Wake as many; the world draws who is the first."""
        if self._tasks:
            self._tasks.rotate(int(here().order.random() * len(self._tasks)))
        while self._tasks and count > 0:
            task, wait = self._tasks.popleft()
            count -= here().wake(task, wait)

    def __len__(self) -> int:
        return len(self._tasks)


class Lock:
    def __init__(self) -> None:
        self._is_taken, self._waiters = False, _Waiters()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        world, until = here(), _until(timeout)
        if blocking and world.current is not None:
            world.require_life()
            world.may_pause()
        while self._is_taken:
            if not blocking or world.now >= until:
                return False
            self._waiters.wait(until)
        self._is_taken = True
        return True

    def release(self) -> None:
        if not self._is_taken:
            raise RuntimeError("release unlocked lock")
        self._is_taken = False
        self._waiters.wake(1)

    def locked(self) -> bool:
        return self._is_taken

    def _at_fork_reinit(self) -> None:
        self._is_taken = False

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class RLock:
    def __init__(self) -> None:
        self._lock, self._owner, self._times = Lock(), 0, 0

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if self._owner != get_ident() or not self._times:
            if not self._lock.acquire(blocking, timeout):
                return False
            self._owner = get_ident()
        self._times += 1
        return True

    def release(self) -> None:
        self._times -= 1
        if not self._times:
            self._lock.release()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class Condition:
    """Its lock may be held more than once only outside of `wait`: the core and the library never do otherwise."""

    def __init__(self, lock: Lock | RLock | None = None) -> None:
        self._lock = RLock() if lock is None else lock
        self._waiters = _Waiters()
        self.acquire, self.release = self._lock.acquire, self._lock.release

    def wait(self, timeout: float | None = None) -> bool:
        self.release()
        try:
            return self._waiters.wait(_until(timeout))
        finally:
            self.acquire()

    def wait_for(self, predicate: Callable[[], bool], timeout: float | None = None) -> bool:
        until = _until(timeout)
        while not predicate():
            if here().now >= until:
                return predicate()
            self.wait(until - here().now)
        return True

    def notify(self, n: int = 1) -> None:
        self._waiters.wake(n)

    def notify_all(self) -> None:
        self._waiters.wake(len(self._waiters))

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class Event:
    def __init__(self) -> None:
        self._is_set, self._waiters = False, _Waiters()

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        self._is_set = True
        self._waiters.wake(len(self._waiters))

    def clear(self) -> None:
        self._is_set = False

    def wait(self, timeout: float | None = None) -> bool:
        if here().current is not None:
            here().may_pause()
        if not self._is_set:
            self._waiters.wait(_until(timeout))
        return self._is_set


class Semaphore:
    def __init__(self, value: int = 1) -> None:
        self._value, self._waiters = value, _Waiters()

    def acquire(self, blocking: bool = True, timeout: float | None = None) -> bool:
        until = _until(timeout)
        while self._value <= 0:
            if not blocking or here().now >= until:
                return False
            self._waiters.wait(until)
        self._value -= 1
        return True

    def release(self, n: int = 1) -> None:
        self._value += n
        self._waiters.wake(n)

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class Thread:
    def __init__(
        self,
        group: None = None,
        target: Callable[..., object] | None = None,
        name: str | None = None,
        args: tuple[object, ...] = (),
        kwargs: dict[str, object] | None = None,
        *,
        daemon: bool | None = None,
    ) -> None:
        self.name, self.daemon = name or "thread", daemon
        self._work = lambda: None if target is None else target(*args, **(kwargs or {}))
        self._over = Event()
        self._task: Task | None = None
        self._serial = here().next_serial()

    def __hash__(self) -> int:  # so that a set of threads has one order in each replay
        return self._serial

    @property
    def ident(self) -> int | None:
        return None if self._task is None else self._task.ident

    def start(self) -> None:
        process = here().require_life().process

        def run() -> None:
            try:
                self.run()
            finally:
                if not process.is_dead:
                    self._over.set()

        self._task = here().start(process, run, self.name)

    def run(self) -> None:
        self._work()

    def join(self, timeout: float | None = None) -> None:
        self._over.wait(timeout)

    def is_alive(self) -> bool:
        return self._task is not None and not self._over.is_set()


class Timer(Thread):
    def __init__(self, interval: float, function: Callable[[], object]) -> None:
        super().__init__(name="timer")
        self._interval, self._function, self._cancelled = interval, function, Event()

    def cancel(self) -> None:
        self._cancelled.set()

    def run(self) -> None:
        if not self._cancelled.wait(self._interval):
            self._function()


class local:  # noqa: N801 - as in `threading`
    """A class that inherits from it has, in each task, the attributes that its `__init__` sets there."""

    def __getattribute__(self, name: str) -> Any:  # noqa: ANN401 - any attribute
        own = object.__getattribute__(self, "__dict__").setdefault("of_tasks", {})
        if name == "__dict__":
            ident = get_ident()
            if ident not in own:
                own[ident] = {}
                type(self).__init__(self)
            return own[ident]
        values = object.__getattribute__(self, "__getattribute__")("__dict__")
        return values[name] if name in values else object.__getattribute__(self, name)

    def __setattr__(self, name: str, value: object) -> None:
        self.__dict__[name] = value


class SimpleQueue:
    def __init__(self) -> None:
        self._items: deque[object] = deque()
        self._waiters = _Waiters()

    def put(self, item: object) -> None:
        self._items.append(item)
        self._waiters.wake(1)

    def get(self, block: bool = True, timeout: float | None = None) -> object:
        until = _until(timeout)
        while not self._items:
            if not block or here().now >= until:
                raise Empty
            self._waiters.wait(until)
        return self._items.popleft()

    def get_nowait(self) -> object:
        return self.get(block=False)


class Empty(Exception):
    pass


class LockOfEachProcess:
    """A lock of a module. Processes share no memory, so each has its own, and a killed one keeps nobody waiting."""

    def __enter__(self) -> bool:
        return self._own.acquire()

    def __exit__(self, *_: object) -> None:
        self._own.release()

    @property
    def _own(self) -> Lock:
        process = kernel.current_process() or _NO_PROCESS
        lock = process.locks.setdefault(id(self), Lock())
        assert isinstance(lock, Lock)
        return lock


_NO_PROCESS = Process("none", 0)


def get_ident() -> int:
    task = here().current
    return 0 if task is None else task.ident


def sleep(seconds: float) -> None:
    here().sleep(seconds)


def _module(name: str, **members: object) -> Any:  # noqa: ANN401 - a module
    module = types.ModuleType(name)
    vars(module).update(members)
    return module


def _executed_again(name: str, over: dict[str, Any]) -> Any:  # noqa: ANN401 - a module
    """Execute a module of the standard library once more, while it finds these modules in the place of others."""
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with replaced_modules(over):
        spec.loader.exec_module(module)
    return module


class replaced_modules:  # noqa: N801 - used as a context manager
    """Let imports inside find these modules in the place of those of the same names."""

    def __init__(self, modules: dict[str, Any]) -> None:
        self._modules = modules

    def __enter__(self) -> None:
        self._before = {name: sys.modules.get(name) for name in self._modules}
        sys.modules.update(self._modules)

    def __exit__(self, *_: object) -> None:
        for name, module in self._before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module


threading = _module(
    "threading",
    TIMEOUT_MAX=TIMEOUT_MAX,
    Condition=Condition,
    Event=Event,
    Lock=Lock,
    RLock=RLock,
    Semaphore=Semaphore,
    Thread=Thread,
    Timer=Timer,
    get_ident=get_ident,
    local=local,
    _register_atexit=lambda *_: None,
)
time = _module(
    "time",
    **{name: value for name, value in vars(real_time).items() if not name.startswith("__")}
    | {
        "monotonic": kernel.monotonic,
        "perf_counter": kernel.monotonic,
        "time": kernel.unix_time,
        "sleep": sleep,
    },
)
_queue = _module("queue", SimpleQueue=SimpleQueue, Empty=Empty)


def _futures() -> Any:  # noqa: ANN401 - a module
    over = {"threading": threading, "time": time, "queue": _queue}
    base = _executed_again("concurrent.futures._base", over)
    # `wait` takes the locks of all futures in the order of their addresses, which no replay would repeat.
    base.Future.__hash__ = lambda self: vars(self).setdefault("_serial", here().next_serial())
    base.id = hash
    base.LOGGER = logging.Logger("of killed workers", level=logging.CRITICAL + 1)  # noqa: LOG001 - one that nobody hears
    package = _module("concurrent.futures", _base=base)
    pools = _executed_again("concurrent.futures.thread", over | {"concurrent.futures": package})
    pools._global_shutdown_lock = LockOfEachProcess()
    names = ("Future", "wait", "as_completed", "CancelledError", "TimeoutError", "FIRST_COMPLETED", "ALL_COMPLETED")
    return _module(
        "concurrent.futures",
        ThreadPoolExecutor=pools.ThreadPoolExecutor,
        **{name: getattr(base, name) for name in names},
    )


futures = _futures()
__all__ = ["Dead", "futures", "threading", "time"]
