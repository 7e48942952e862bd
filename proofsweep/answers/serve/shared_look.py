"""What goes on now, for all viewers: the store is looked at once for them all, and only while somebody looks."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Generic, TypeVar

from starlette.concurrency import run_in_threadpool

# Time between two looks at the store. Chosen: a leg writes its progress every 10 s, and each look is a few requests.
LOOK_SECONDS = 4.0

_Seen = TypeVar("_Seen")


class SharedLook(Generic[_Seen]):
    """Looks again and again while there are viewers, and hands each of them what has changed.

    Args:
        look: reads the store; runs in a thread, and never raises what a viewer should be told.
        rest_seconds: time from the end of a look to the next one, however viewers come and go.
    """

    def __init__(self, look: Callable[[], _Seen], rest_seconds: float = LOOK_SECONDS) -> None:
        self._look = look
        self._rest_seconds = rest_seconds
        self._viewers = 0
        self._looking: asyncio.Task[None] | None = None
        self._looked_at = float("-inf")  # by the event loop's clock
        self._seen: _Seen | None = None
        self._changed = asyncio.Event()
        self._is_over = False

    async def changes(self, patience_seconds: float) -> AsyncIterator[_Seen | None]:
        """Yield what is seen, each time it has changed, until the server ends; None after a time without a change."""
        self._viewers += 1
        clock, shown = asyncio.get_running_loop().time, None
        silent_until = clock() + patience_seconds
        try:
            while not self._is_over:
                if self._looking is None or self._looking.done():
                    self._looking = asyncio.create_task(self._look_on())
                changed, news = self._changed, None
                if self._seen is not None and self._seen != shown:
                    news = shown = self._seen
                elif await _is_set(changed, silent_until - clock()):
                    continue
                yield news
                silent_until = clock() + patience_seconds
        finally:
            self._viewers -= 1
            if not self._viewers and self._looking is not None:
                self._looking.cancel()
                self._looking, self._seen = None, None

    def end(self) -> None:
        """End all viewers' streams: the server ends."""
        self._is_over = True
        self._changed.set()

    async def _look_on(self) -> None:
        clock = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(self._looked_at + self._rest_seconds - clock())
            try:
                self._seen = await run_in_threadpool(self._look)
            finally:
                self._looked_at = clock()
            before, self._changed = self._changed, asyncio.Event()
            before.set()


async def _is_set(event: asyncio.Event, patience_seconds: float) -> bool:
    with suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), patience_seconds)
        return True
    return False
