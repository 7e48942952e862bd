"""Work through one slice of a shard after the other, on threads; what is in doubt is tried last."""

import resource
import sys
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Executor, Future, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from queue import Empty, SimpleQueue
from typing import Any, ParamSpec, TypeVar

import pyarrow as pa

from proofsweep.config.logs import Event, log
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ResultsError, RunMustStop
from proofsweep.domain.items import Row, WorkItem
from proofsweep.domain.outcomes import Deferred
from proofsweep.domain.runs import Slice
from proofsweep.store import layout
from proofsweep.store.journal import Segments
from proofsweep.store.known_rows import earlier_rows
from proofsweep.store.tables.schemas import SCHEMAS
from proofsweep.store.tables.verdicts import row_of
from proofsweep.verify.budget import calls_of
from proofsweep.verify.commit import PublishedRows
from proofsweep.verify.item import verify_item
from proofsweep.verify.session import LegContext

# How soon an item begins after the results store is well again; twice as long costs that much once in an outage.
_STORE_CHECK_SECONDS = 0.2
_ITEMS_AT_ONCE = 1_000  # items whose rows are kept as they come, some 10 KB each, before they are packed


def verify_slice(leg: LegContext, piece: Slice, written: Sequence[int] = b"") -> int:
    """Work through what remains of a slice; return the number of rows it finished.

    (1) read what remains, less what was in doubt before, (2) verify on the worker threads, (3) publish if the shard is
    done. A shard that ends early and one that is cut into single items publish nothing: their rows are in the journal
    until the leg's end. `written` is `rows_written`, if another process of this leg may have finished some rows.

    Raises:
        NameTaken: another leg has taken this one over, or another process of this leg has published the shard.
    """
    later = leg.in_doubt_before & set(leg.remaining.rows(piece))
    items = (item for item in leg.remaining.items(piece) if item.manifest_row not in later)  # (1)
    if written:
        items = (item for item in items if not written[item.manifest_row])
    rows = [SCHEMAS["verdicts"].empty_table()]
    is_whole = not later and not written
    for worked in _verified(leg, items):  # (2)
        written_now = [row for row in worked if row is not None]
        rows.append(pa.Table.from_pylist(written_now, schema=SCHEMAS["verdicts"]))
        is_whole = is_whole and None not in worked
    whole = pa.concat_tables(rows)
    if whole.num_rows and is_whole and not leg.plan.is_small:
        with suppress(ResultsError):  # a store that fails for a while: the rows are published at the leg's end
            _publish(leg, piece.shard, whole)  # (3)
    return whole.num_rows


def rows_written(leg: LegContext, writers: Collection[str] | None = None) -> bytearray:
    """Read which rows of the plan are in the journals of this leg: one byte for each row.

    What this process has finished is written down first. Only the journals of `writers` are read, which may have
    millions of rows; None for all.

    Raises:
        ResultsError: the store cannot be used.
    """
    leg.journal.flush()
    segments, written = Segments(leg.results, leg.plan.run_id, leg.leg), bytearray(leg.plan.items)
    for name in segments.names("verdicts"):
        is_wanted = writers is None or name.rsplit("-", 2)[1] in writers
        rows = segments.table(name, ["manifest_row"]) if is_wanted else None
        for row in [] if rows is None else rows["manifest_row"].to_pylist():
            if row is not None:
                written[row] = 1
    return written


def _verified(leg: LegContext, items: Iterator[WorkItem]) -> Iterator[list[Row | None]]:
    """Verify items in portions, of which the second is begun before the first is awaited: no thread is ever idle."""
    begun: deque[list[Future[Row | None]]] = deque()
    while portion := list(islice(items, _ITEMS_AT_ONCE)):
        touched = [item.item_id for item in portion if item.is_touched]
        earlier: dict[str, Row] = {}
        with suppress(ResultsError):  # then they are sent
            earlier = earlier_rows(leg.results, leg.plan.environment, touched) if touched else {}
        known = (replace(item, earlier=earlier.get(item.item_id)) if item.is_touched else item for item in portion)
        begun.append([leg.workers.submit(work_item, leg, item) for item in known])
        if len(begun) > 1:
            yield _worked(leg, begun.popleft())
    while begun:
        yield _worked(leg, begun.popleft())


def _worked(leg: LegContext, futures: Sequence[Future[Row | None]]) -> list[Row | None]:
    done, _ = wait(futures, return_when=FIRST_EXCEPTION)
    try:
        return [future.result() for future in done]
    except Exception:
        leg.stop.pull(RunMustStop("A worker failed through a mistake of this program.", ended_by=EndedBy.ERROR))
        raise


def work_item(leg: LegContext, item: WorkItem) -> Row | None:
    """Verify one item and write its row down; None when the row remains, or waits for a control."""
    with suppress(RunMustStop):  # begin nothing that could not be written down
        while not leg.heartbeat.store_is_well:
            leg.stop.rest(_STORE_CHECK_SECONDS)
    if leg.stop.reason is not None or not leg.control.may_try(item):
        return None
    is_free = item.ineligible is not None and not item.may_be_found
    if not (is_free or leg.budget.admits(item.manifest_row, calls_of(item.audio))):
        return None
    began_at = leg.control.clock()
    try:
        done = verify_item(item, leg.verify, partial(leg.trail.note, item.manifest_row))
        if isinstance(done, Deferred):
            return None
        row = row_of(done, leg.row_context)
        return row if leg.control.admit(done, row, began_at) else None
    finally:
        leg.budget.release(item.manifest_row)


def _publish(leg: LegContext, shard: int, rows: pa.Table) -> None:
    leg.journal.flush()  # first: else a kill could leave rows whose exchanges were only in memory
    name = layout.verdicts_name(leg.plan.run_id, leg.plan.run_date, shard, leg.leg)
    part = leg.results.create_part(name, "verdicts", rows.sort_by("manifest_row"))
    log(Event.SHARD_PUBLISHED, run_id=leg.plan.run_id, leg=leg.leg, shard=shard, rows=part.rows)


def work_last(leg: LegContext) -> None:
    """Finish what a leg has left; what remains in doubt then ends it.

    (1) make the controls that are due, (2) try what has no row once more, with the service asked for each file, (3)
    make the controls again.
    """
    try:
        leg.control.finish()  # (1)
        if leg.counters.lane is None and leg.counters.rows.total() >= leg.remaining.count:
            return
        last = replace(leg, verify=replace(leg.verify, duplicates=None))
        for _ in _verified(last, unfinished(leg)):  # (2)
            pass
        leg.control.finish()  # (3)
        in_doubt = sum(1 for _ in unfinished(leg))
    except RunMustStop:
        return
    except ResultsError as error:
        leg.stop.pull(RunMustStop(f"What remains cannot be read: {error.message}", ended_by=EndedBy.BREAKER))
        return
    if in_doubt:
        leg.stop.pull(RunMustStop(leg.control.sentence(in_doubt), ended_by=EndedBy.BREAKER))


def unfinished(leg: LegContext) -> Iterator[WorkItem]:
    """Return the items that have no row yet, of all processes of the leg; ResultsError if the store cannot be used."""
    written, published = rows_written(leg), PublishedRows(leg.results, leg.plan)
    items = leg.remaining.all_items()
    return (item for item in items if not written[item.manifest_row] and not published.has(item.manifest_row))


_AHEAD = 8  # items whose files are opened before the service lets their first call go
_IDLE_SECONDS = 20.0
_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class _Task:
    future: Future[Any]
    work: Callable[[], object]


class _ThreadState(threading.local):
    is_ahead = False


class Workers(Executor):
    """Works on items in the order of their submission, each on a thread.

    An item is *ahead* from its start until its first call may go, or until it makes room for another reason. Only a few
    items may be ahead: the next one starts when one of them makes room or ends. So a narrow lane needs few threads, and
    a wide one as many as its rate times the time that an item takes.
    """

    def __init__(
        self, most: int, *, idle_seconds: float = _IDLE_SECONDS, release: Callable[[], None] = lambda: None
    ) -> None:
        self.most = most
        self._idle_seconds = idle_seconds
        self._release = release
        self._lock = threading.Lock()
        self._tasks: deque[_Task] = deque()
        self._threads: set[threading.Thread] = set()
        self._idle: list[SimpleQueue[_Task | None]] = []
        self._ahead, self._most_ahead = 0, _AHEAD
        self._own = _ThreadState()
        self._is_closed = False

    def submit(
        self, work: Callable[_Given, _Result], /, *args: _Given.args, **kwargs: _Given.kwargs
    ) -> Future[_Result]:
        future: Future[_Result] = Future()
        with self._lock:
            if self._is_closed:
                raise RuntimeError("no work is taken after shutdown")
            self._tasks.append(_Task(future, partial(work, *args, **kwargs)))
            self._begin()
        return future

    def make_room(self, waiting: int = 1) -> None:
        """Let the next item start, since the caller's may call the service; without effect outside of an item's thread.

        `waiting` other items are ready to call. If there is none, files take long to open and more must be ahead.
        """
        if not self._own.is_ahead:
            return
        self._own.is_ahead = False
        with self._lock:
            more = (waiting == 0) - (waiting > _AHEAD)
            self._most_ahead = max(_AHEAD, min(self.most, self._most_ahead + more))
            self._ahead -= 1
            self._begin()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more work; the threads end when the submitted work is done or cancelled."""
        with self._lock:
            self._is_closed = True
            cancelled = list(self._tasks) if cancel_futures else []
            if cancel_futures:
                self._tasks.clear()
            for inbox in self._idle:
                inbox.put(None)
            self._idle.clear()
            threads = list(self._threads) if wait else []
        for task in cancelled:
            task.future.cancel()
        for thread in threads:
            thread.join()

    @property
    def threads(self) -> int:
        return len(self._threads)

    def _begin(self) -> None:
        """Give items to threads while there is room; under the lock.

        The thread with the shortest idle time comes first, so that a thread that is not needed stays idle and ends. If
        the system has no other thread, the item waits for the ones that exist; it fails only if there is none.
        """
        while self._idle or len(self._threads) < self.most:
            task = self._next_task()
            if task is None:
                return
            if self._idle:
                self._idle.pop().put(task)
                continue
            thread = threading.Thread(target=self._work_on, args=(task,), name="verify")
            self._threads.add(thread)
            try:
                thread.start()
            except RuntimeError as error:
                self._threads.discard(thread)
                self._ahead -= 1
                if self._threads:
                    self._tasks.appendleft(task)
                    return
                if task.future.set_running_or_notify_cancel():
                    task.future.set_exception(error)

    def _next_task(self) -> _Task | None:
        if not self._tasks or self._ahead >= self._most_ahead:
            return None
        self._ahead += 1
        return self._tasks.popleft()

    def _work_on(self, task: _Task | None) -> None:
        inbox: SimpleQueue[_Task | None] = SimpleQueue()
        while task is not None:
            self._own.is_ahead = True
            if task.future.set_running_or_notify_cancel():
                try:
                    result = task.work()
                except BaseException as error:  # noqa: BLE001 - raised where the result is read
                    task.future.set_exception(error)
                else:
                    task.future.set_result(result)
            task = self._another(inbox)
        self._release()

    def _another(self, inbox: "SimpleQueue[_Task | None]") -> _Task | None:
        with self._lock:
            self._ahead -= self._own.is_ahead
            task = self._next_task()
            if task is not None:
                return task
            if self._is_closed:
                self._threads.discard(threading.current_thread())
                return None
            self._idle.append(inbox)
        try:
            return inbox.get(timeout=self._idle_seconds)
        except Empty:
            return self._last_chance(inbox)

    def _last_chance(self, inbox: "SimpleQueue[_Task | None]") -> _Task | None:
        with self._lock:
            if inbox not in self._idle:
                return inbox.get()
            self._idle.remove(inbox)
            self._threads.discard(threading.current_thread())
            return None


# What one worker holds open at most: its connections to the API, to the storage and for a download, and the audio.
# Measured: 3 for each with local files, no download and 20 workers.
_FILES_OF_A_WORKER = 4
_FILES_OF_THE_PROCESS = 64  # all else: journal, Prefect, DuckDB, wakeups. Measured: 27 with one worker


def workers_that_fit(wanted: int, open_files: int) -> int:
    """Return how many of the wanted workers have room for all that they open; at least one."""
    return max(1, min(wanted, (open_files - _FILES_OF_THE_PROCESS) // _FILES_OF_A_WORKER))


def most_open_files() -> int:
    """Raise the limit of open files as far as the system allows without a privilege, and return it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # macOS names a limit that it does not accept
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft
