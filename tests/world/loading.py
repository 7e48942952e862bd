"""Load the core with the virtual threads, the clocks, the chance, the store and the network of the world.

The first import of the core in this process must be the one below. What only another process would do, a refresh of the
latest answers, is left out here; a night plays it as a process of its own.
"""

import logging
import random
import secrets
import sys
import types
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

import kernel
import pyarrow as pa
import virtual_threads
from bucket import Bucket
from kernel import here
from partner import Partner, connect


class Surroundings:
    """The partner and the store of the world that is played."""

    partner: Partner
    bucket: Bucket


def _replace_chance() -> None:
    """Let the core draw from the world: its modules know these functions by their modules, or import them later."""
    secrets.token_hex = lambda nbytes: here().stream("core").randbytes(nbytes).hex()
    secrets.token_bytes = lambda nbytes: here().stream("core").randbytes(nbytes)
    random.random = lambda: here().stream("core").random()
    random.sample = lambda among, k: here().stream("core").sample(among, k)


def _replace_threads() -> None:
    assert "proofsweep.config.threads" not in sys.modules, "the core was imported with real threads"
    fakes = {
        "threading": virtual_threads.threading,
        "time": virtual_threads.time,
        "concurrent.futures": virtual_threads.futures,
    }
    with virtual_threads.replaced_modules(fakes):
        from proofsweep.config import threads
    threads.utc_now = lambda: datetime.fromtimestamp(kernel.unix_time(), UTC)


def _replace_processes() -> None:
    from proofsweep.store import holder, journal

    def kill(pid: int, _signal: int) -> None:
        process = kernel.current_process()
        alive = [each for each in here().processes if each.pid == pid and not each.is_over]
        if process is None or not any(each.host == process.host for each in alive):
            raise ProcessLookupError

    def own(name: str) -> Any:  # noqa: ANN401 - a number or a name
        return getattr(kernel.current_process(), name, 0)

    holder.os = journal.os = types.SimpleNamespace(getpid=lambda: own("pid"), kill=kill)
    holder.socket = types.SimpleNamespace(gethostname=lambda: own("host"))
    holder._this_machine = lambda: own("host")
    holder._process_started = str


def _replace_network() -> None:
    import httpcore._sync.http11
    import httpcore._synchronization
    import httpx

    from proofsweep.client import transport

    httpcore._sync.http11.time = virtual_threads.time
    httpcore._synchronization.threading = virtual_threads.threading
    httpx.create_ssl_context = lru_cache(1)(httpx.create_ssl_context)
    transport._Connections.__hash__ = transport._Stream.__hash__ = _serial
    httpcore.SyncBackend.connect_tcp = lambda _, host, port, timeout=None, **named: connect(
        Surroundings.partner, host, timeout
    )
    transport.socket = types.SimpleNamespace(
        socket=types.SimpleNamespace(shutdown=lambda s, _: s.shutdown()), SHUT_RDWR=2
    )


def _replace_certificates() -> None:
    """Reading the certificates of the system takes a tenth of a small world, which has no TLS."""
    from proofsweep.config import certificates

    certificates.require_certificates = lambda *_: None


def _serial(self: object) -> int:
    """Hash an object by a number instead of its address, so that sets of such have one order in each replay."""
    return vars(self).setdefault("_serial", here().next_serial())


def _replace_store() -> None:
    from mount import replace_folders

    from proofsweep.store import bucket_store, latest
    from proofsweep.verify import history

    names = ("put", "get", "get_range", "delete", "list_with_delimiter")
    calls = {name: _of_bucket(name) for name in names}
    bucket_store.obstore = types.SimpleNamespace(**calls, list=_of_bucket("pages"))
    bucket_store.BucketStore.__init__.__defaults__ = (lambda root: root,)
    replace_folders()
    latest.refresh_if_due = history.refresh_if_due = lambda _results: None


def _replace_queries() -> None:
    """Let DuckDB read the bucket at once: inside of its calls no task can give way to another."""
    from mount import FOLDER

    from proofsweep.domain.errors import ResultsError
    from proofsweep.queries import connection, store_files, tables
    from proofsweep.store import latest

    class FilesOfBucket(store_files.StoreFiles):
        def __init__(self, store: Any) -> None:  # noqa: ANN401 - a store
            super().__init__(store)
            self._sizes, self._whole = self._sizes_at_once, self._read_at_once

        def glob(self, path: str, **_: object) -> list[str]:
            name = self._strip_protocol(path)
            return [each for each in sorted(self._objects()) if fnmatchcase(each, name)] if "*" in name else [name]

        def _sizes_at_once(self, folder: str) -> dict[str, int]:
            objects = self._objects().items()
            return {name: len(content) for name, content in objects if name.rpartition("/")[0] == folder}

        def _read_at_once(self, name: str) -> bytes | None:
            return self._objects().get(name)

        @staticmethod
        def _objects() -> dict[str, bytes]:
            if Surroundings.bucket.kept is not None:
                raise ResultsError("The store of the world is away.")
            return {key.removeprefix("results/"): content for key, content in Surroundings.bucket.objects.items()}

    store_files.StoreFiles = FilesOfBucket
    read_by_us = tables.read_by_us
    tables.read_by_us = connection.read_by_us = lambda store: store.url == FOLDER or read_by_us(store)
    latest.OFFLINE["threads"] = 1


def _of_bucket(name: str) -> Any:  # noqa: ANN401 - a function of `obstore`
    def call(*given: Any, **named: Any) -> Any:  # noqa: ANN401 - likewise
        return getattr(Surroundings.bucket, name)(*given, **named)

    return call


def set_sizes(rows_of_part: int, items_of_batch: int, items_of_small_run: int) -> None:
    """Set from which sizes on a run is cut, so that one of a few files has parts, batches and partitions too."""
    from proofsweep.domain import runs
    from proofsweep.verify import commit

    commit.ROWS_PER_PART = rows_of_part
    runs.BATCH_ITEMS, runs.SMALL_RUN_ITEMS = items_of_batch, items_of_small_run


class _Story(logging.Handler):
    """Tells each event of the log in the story of the world."""

    def emit(self, record: logging.LogRecord) -> None:
        here().tell("log", record.getMessage())


class _Said:
    """Takes the place of stderr in `say`."""

    def write(self, text: str) -> None:
        here().tell("says", text.strip())

    def flush(self) -> None:
        pass


def load() -> None:
    pa.set_cpu_count(1)  # groups come in an order that no thread decides
    _replace_chance()
    _replace_threads()
    from disk import replace_disk

    import proofsweep.app
    import proofsweep.ingest.one_pass
    import proofsweep.operations.erase
    import proofsweep.queries.status
    import proofsweep.queries.store_status
    import proofsweep.verify.attempt
    import proofsweep.verify.worker  # noqa: F401 - loaded before what it uses is replaced
    from proofsweep.config import logs, notices

    _replace_processes()
    _replace_certificates()
    _replace_network()
    _replace_store()
    _replace_queries()
    replace_disk()
    logging.getLogger(logs.LOGGER).handlers[:] = [_Story()]
    logging.getLogger(logs.LOGGER).propagate = False
    notices.sys = types.SimpleNamespace(stderr=_Said())
