"""The results store of a world: a bucket in memory, in the words of `obstore`, that fails as buckets do."""

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq
from kernel import Process, here
from obstore import exceptions

URL = "s3://world/results"
_WATCH_LEASE = re.compile(r"/_ingest/_runs/.*/lease\.json$")
_SLOW_SHARE, _SLOW_FACTOR = 0.04, 15.0


@dataclass(slots=True, kw_only=True)
class StoreWeather:
    """What goes wrong between two times, as shares of all requests."""

    since: float = 0.0
    until: float = math.inf
    fails_before: float = 0.0  # the request was not heard
    fails_after: float = 0.0  # a write happened, and its answer was lost
    hangs: float = 0.0  # the answer comes very late
    stalls: float = 0.0  # it comes after minutes, when nobody waits any more
    is_away: bool = False  # no request is answered

    def has(self, now: float) -> bool:
        return self.since <= now < self.until


class Bucket:
    """Objects by key. `lag_seconds` is how long listings may lack what was written."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.written_at: dict[str, float] = {}
        self.journalled_at: dict[Process, list[float]] = {}  # when each process wrote to a journal
        self.deleted: dict[str, bytes] = {}
        self.kept: dict[str, bytes] | None = None  # its objects, while an empty one stands in its place
        self.was_watched = False  # whether a pass has written down that it watches a folder, and where shares lie
        self.absence = StoreWeather()  # the last time that it was so
        self.lost = 0  # objects that were written into such a one
        self.random, self._stalls = here().stream("bucket"), here().stream("stalls")
        self.latency = 0.004
        self.lag_seconds = 0.0
        self.lets_two_through = False  # whether a conditional create may overwrite, as some gateways' do
        self.weather: list[StoreWeather] = []
        self._hidden_until: dict[str, float] = {}

    def was_failing(self, since: float, until: float) -> bool:
        return any(each.since <= until and since < each.until for each in self.weather)

    # --- In the words of `obstore`, whose first argument is the bucket

    def put(self, root: object, key: str, content: bytes, *, mode: str, **options: object) -> None:
        del options
        with_answer = self._begin("put", key, is_write=True)
        task = here().current
        process = None if task is None else task.process
        count = 0
        if process is not None:
            process.writes += 1
            count = process.writes
            if process.dies_at_write == (count, False):
                here().die()
        objects = self._objects_of(root)
        is_taken = mode == "create" and key in objects
        if is_taken and self.lets_two_through and here().now - self.written_at[key] < 0.05:
            is_taken = False
        if not is_taken:
            self._set(key, bytes(content), objects)
        if process is not None and process.dies_at_write == (count, True):
            here().die()
        self._end(with_answer, key)
        if is_taken:
            raise exceptions.AlreadyExistsError(f"{key} exists")

    def get(self, root: object, key: str) -> "_Content":
        answer = self._begin("get", key)
        content = self._objects_of(root).get(key)
        self._end(answer, key)
        if content is None:
            raise FileNotFoundError(key)
        return _Content(content)

    def get_range(self, root: object, key: str, *, start: int, end: int) -> bytes:
        return self.get(root, key).bytes()[start:end]

    def delete(self, root: object, key: str) -> None:
        answer = self._begin("delete", key, is_write=True)
        content = self._objects_of(root).pop(key, None)
        if content is not None:
            self.deleted[key] = content
        self._end(answer, key)

    def list_with_delimiter(self, root: object, prefix: str) -> dict[str, list[object]]:
        answer = self._begin("list", prefix)
        objects: list[object] = []
        folders: dict[str, None] = {}
        there = self._objects_of(root)
        for key in self._listed(prefix, there):
            below, slash, _ = key.removeprefix(prefix).partition("/")
            if slash:
                folders[f"{prefix}{below}"] = None
            else:
                objects.append({"path": key, "size": len(there[key])})
        self._end(answer, prefix)
        return {"objects": objects, "common_prefixes": [*folders]}

    def pages(self, root: object, prefix: str, *, offset: str) -> Iterator[list[dict[str, object]]]:
        answer = self._begin("list", prefix)
        page: list[dict[str, object]] = [
            {"path": key, "size": len(self.objects[key])}
            for key in self._listed(prefix, self._objects_of(root))
            if key > offset
        ]
        self._end(answer, prefix)
        yield page

    def _objects_of(self, root: object) -> dict[str, bytes]:
        """Return what is below a folder that a process has opened, whatever is mounted by now; or the bucket's."""
        return root if isinstance(root, dict) else self.objects

    # --- What a request goes through

    def _begin(self, what: str, key: str, *, is_write: bool = False) -> bool:
        """Let a request reach the bucket; return whether its answer is lost. One that reads is there at once.

        So what it reads is old when its answer arrives, and no wait is spent that no other process could notice.
        """
        world = here()
        if world.current is None:
            return False  # the checks look from outside
        process = world.require_life().process
        if is_write:
            world.sleep(self._way_seconds())
        weather = [each for each in self.weather if each.has(world.now)]
        if any(each.is_away for each in weather):
            world.sleep(self.random.uniform(0.5, 6.0))
            raise exceptions.GenericError("connect error")
        if self._draws(each.hangs for each in weather):
            world.tell("store is slow", what, key)
            world.sleep(self.random.uniform(3.0, 40.0))
        if any(each.stalls for each in weather) and self._stalls.random() < max(each.stalls for each in weather):
            world.tell("store stalls", what, key)
            world.sleep(self._stalls.uniform(60.0, 600.0))
        process.requests += 1
        if process.requests == process.fails_at_request or self._draws(each.fails_before for each in weather):
            world.tell("store fails before", what, key)
            raise exceptions.GenericError("connect error")
        return is_write and self._draws(each.fails_after for each in weather)

    def _way_seconds(self) -> float:
        """Draw how long a request, or its answer, is on its way: many are quick, some slow, and a few very slow."""
        usual = self.random.expovariate(1.0 / self.latency)
        return usual * _SLOW_FACTOR if self.random.random() < _SLOW_SHARE else usual

    def _draws(self, shares: Iterable[float]) -> bool:
        return self.random.random() < max(shares, default=0.0)

    def _end(self, is_answer_lost: bool, key: str) -> None:
        world = here()
        if world.current is None:
            return
        world.sleep(self._way_seconds())
        if is_answer_lost:
            world.tell("store fails after", key)
            raise exceptions.GenericError("connection closed")

    def _set(self, key: str, content: bytes, objects: dict[str, bytes]) -> None:
        world = here()
        if key not in objects and self.lag_seconds and self.random.random() < 0.5:
            self._hidden_until[key] = world.now + self.random.uniform(0.0, self.lag_seconds)
        objects[key], self.written_at[key] = content, world.now
        if _WATCH_LEASE.search(key):
            self.was_watched = True
        if world.current is not None and "/journal/" in key and "/exchanges-" in key:
            self.journalled_at.setdefault(world.current.process, []).append(world.now)
        world.tell("writes", key, len(content))

    def _listed(self, prefix: str, objects: dict[str, bytes]) -> list[str]:
        now = here().now
        shown = here().current is None
        return sorted(
            key for key in objects if key.startswith(prefix) and (shown or self._hidden_until.get(key, 0.0) <= now)
        )


def read_parquet(content: bytes) -> pa.Table:
    """Read an object as any reader does, without the threads and the discovery that whole datasets are worth."""
    return pq.ParquetFile(pa.BufferReader(content)).read(use_threads=False)


class _Content:
    def __init__(self, content: bytes) -> None:
        self._content = content

    def bytes(self) -> bytes:
        return self._content
