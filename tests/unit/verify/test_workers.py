"""Threads are made as items need them, and leave when they are not needed."""

import resource
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field

import pytest

from proofsweep.verify.service import Workers, workers_that_fit

from ...worlds.waiting import wait_for


@dataclass
class Shop:
    """Items that wait for their turn, and then until they may end."""

    workers: Workers
    turns: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    ends: threading.Event = field(default_factory=threading.Event)
    begun: list[int] = field(default_factory=list)

    def work(self, number: int) -> int:
        self.begun.append(number)
        self.turns.acquire()
        self.workers.make_room()
        self.ends.wait()
        return number

    def let_through(self, turns: int) -> None:
        self.ends.set()
        self.turns.release(turns)


@pytest.fixture
def shop() -> Iterator[Shop]:
    """Yield at most 20 threads; those that still work at the end are released."""
    shop = Shop(Workers(20))
    yield shop
    shop.let_through(1_000)
    shop.workers.shutdown(cancel_futures=True)


def submit(shop: Shop, items: int) -> list[Future[int]]:
    """Submit items in a thread of its own, since that waits for room; give what was submitted so far."""
    submitted: list[Future[int]] = []

    def submit_all() -> None:
        with suppress(RuntimeError):  # the end came first
            submitted.extend(shop.workers.submit(shop.work, number) for number in range(items))

    threading.Thread(target=submit_all, daemon=True).start()
    return submitted


def test_items_begin_only_as_turns_come_for_them(shop: Shop) -> None:
    """A lane of one call in minutes needs few threads, however many items there are; no lane more than are set."""
    submit(shop, 100)
    wait_for(lambda: len(shop.begun) == 8)

    shop.turns.release(2)
    wait_for(lambda: len(shop.begun) == 10)

    assert shop.begun == list(range(10))
    shop.turns.release(90)
    wait_for(lambda: len(shop.begun) == 20)


def test_items_wait_for_the_threads_that_exist_if_no_other_can_start(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None is lost. Without any thread an item fails, and the next one begins as soon as there is one again."""
    start, left = threading.Thread.start, [0]

    def start_one_of_few(thread: threading.Thread) -> None:
        if left[0] == 0:
            raise RuntimeError("can't start new thread")
        left[0] -= 1
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_one_of_few)
    shop.let_through(31)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        shop.workers.submit(shop.work, 0)
    left[0] = 3

    futures = [shop.workers.submit(shop.work, number) for number in range(30)]

    assert [future.result(10.0) for future in futures] == list(range(30))
    assert left == [0]


@pytest.mark.parametrize(
    ("wanted", "open_files", "workers"),
    [(60, 150, 21), (128, 160, 24), (128, 576, 128), (128, 575, 127), (128, resource.RLIM_INFINITY, 128), (60, 0, 1)],
)
def test_as_many_workers_work_as_have_room_for_their_files(
    monkeypatch: pytest.MonkeyPatch, wanted: int, open_files: int, workers: int
) -> None:
    """Some files are for the rest of the process; one worker always works."""
    monkeypatch.setattr(resource, "getrlimit", lambda _: (open_files, open_files))
    monkeypatch.setattr(resource, "setrlimit", lambda *_: None)

    assert workers_that_fit(wanted) == workers
