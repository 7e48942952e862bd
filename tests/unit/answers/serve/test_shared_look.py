"""The store is looked at once for all viewers, and only while somebody looks."""

import asyncio
from collections.abc import AsyncIterator
from itertools import count

from proofsweep.answers.serve.shared_look import SharedLook

PATIENCE_SECONDS = 5.0
REST_SECONDS = 0.05


class Store:
    """Counts how often it is looked at; each look sees another number, or the same one."""

    def __init__(self, *, changes: bool = True) -> None:
        self.looks = 0
        self._numbers = count(1)
        self._changes = changes

    def look(self) -> int:
        """Look once."""
        self.looks += 1
        return next(self._numbers) if self._changes else 7


async def first(stream: AsyncIterator[int | None], many: int) -> list[int | None]:
    """Take the first of a stream and close it, as a browser that goes away does."""
    taken = []
    async for each in stream:
        taken.append(each)
        if len(taken) == many:
            break
    await stream.aclose()  # type: ignore[attr-defined]  # an async generator
    return taken


def test_many_viewers_cost_as_many_looks_as_one() -> None:
    """Each sees each change; nobody makes a look of his own."""
    store = Store()

    async def view() -> list[list[int | None]]:
        watch = SharedLook(store.look, REST_SECONDS)
        return await asyncio.gather(*(first(watch.changes(PATIENCE_SECONDS), 3) for _ in range(50)))

    seen = asyncio.run(view())

    assert seen == [[1, 2, 3]] * 50
    assert store.looks == 3


def test_nobody_looks_while_there_is_no_viewer() -> None:
    """The last one who goes ends the looking."""
    store = Store()

    async def view() -> int:
        watch = SharedLook(store.look, REST_SECONDS)
        await first(watch.changes(PATIENCE_SECONDS), 2)
        before = store.looks
        await asyncio.sleep(4 * REST_SECONDS)
        return store.looks - before

    assert asyncio.run(view()) == 0


def test_viewers_who_come_and_go_cause_no_more_looks() -> None:
    """The time between two looks holds for the server, not for a viewer."""
    store = Store()

    async def view() -> float:
        watch, clock = SharedLook(store.look, REST_SECONDS), asyncio.get_running_loop().time
        began = clock()
        for _ in range(4):
            await first(watch.changes(PATIENCE_SECONDS), 1)
        return clock() - began

    assert asyncio.run(view()) >= 3 * REST_SECONDS
    assert store.looks == 4


def test_what_has_not_changed_is_sent_once() -> None:
    """After a time without a change there is None, so that a closed connection is noticed."""
    store = Store(changes=False)

    async def view() -> list[int | None]:
        return await first(SharedLook(store.look, 0.01).changes(0.2), 2)

    assert asyncio.run(view()) == [7, None]
    assert store.looks > 2


def test_a_viewer_who_comes_later_sees_at_once_what_was_seen_last() -> None:
    """No look is needed."""
    store = Store(changes=False)

    async def view() -> list[int | None]:
        watch = SharedLook(store.look, 60.0)
        stream = watch.changes(PATIENCE_SECONDS)
        await anext(stream)
        return await first(watch.changes(PATIENCE_SECONDS), 1)

    assert asyncio.run(view()) == [7]
    assert store.looks == 1


def test_the_end_of_the_server_ends_all_streams() -> None:
    """Ctrl-C does not wait for browsers."""
    store = Store(changes=False)

    async def view() -> list[int | None]:
        watch = SharedLook(store.look, 60.0)
        streams = asyncio.gather(*(first(watch.changes(60.0), 9) for _ in range(3)))
        await asyncio.sleep(REST_SECONDS)
        watch.end()
        return [each for stream in await streams for each in stream]

    assert asyncio.run(view()) == [7, 7, 7]
