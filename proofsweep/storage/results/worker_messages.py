"""Reports and orders in the results store: what the processes of one leg tell each other, wherever they run."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from proofsweep.domain import layout
from proofsweep.domain.worker_processes import Document, Orders, WorkerReport, document_of, orders_of, report_of
from proofsweep.storage.results.plans_and_parts import json_bytes
from proofsweep.storage.results.store import Store

# Reports that are read at once. Chosen: a bucket takes 40 ms for one; half reads those of 64 processes in a second,
# twice only opens more connections.
_READS_AT_ONCE = 8

_Message = TypeVar("_Message")


@dataclass(frozen=True, slots=True)
class WorkerMessages:
    """The messages of one leg. Each process replaces its own object, and reads those of others."""

    store: Store
    run_id: str
    leg: int

    def reports(self) -> dict[str, WorkerReport]:
        """Read the last report of each worker process, by its name."""
        names = self.store.names(layout.reports_folder(self.run_id, self.leg))
        with ThreadPoolExecutor(_READS_AT_ONCE) as pool:
            read = list(pool.map(self.store.read, names))
        found = {name: _message_of(content, report_of) for name, content in zip(names, read, strict=True)}
        return {_writer_of(name): report for name, report in found.items() if report is not None}

    def write_report(self, writer: str, report: WorkerReport) -> None:
        """Replace the report of one worker process."""
        self.store.replace(self._report_name(writer), json_bytes(document_of(report)))

    def orders(self) -> Orders | None:
        """Read the orders; None if there are none: the leg has not begun to have worker processes, or it has ended."""
        return _message_of(self.store.read(layout.orders_name(self.run_id, self.leg)), orders_of)

    def write_orders(self, orders: Orders) -> None:
        """Replace the orders."""
        self.store.replace(layout.orders_name(self.run_id, self.leg), json_bytes(document_of(orders)))

    def delete(self) -> None:
        """Delete all messages of a leg that has ended."""
        for name in self.store.names(layout.reports_folder(self.run_id, self.leg)):
            self.store.delete(name)
        self.store.delete(layout.orders_name(self.run_id, self.leg))

    def _report_name(self, writer: str) -> str:
        return f"{layout.reports_folder(self.run_id, self.leg)}/{writer}.json"


def _writer_of(name: str) -> str:
    return name.rpartition("/")[2].removesuffix(".json")


def _message_of(content: bytes | None, read: Callable[[Document], _Message]) -> _Message | None:
    """Read a message; None if there is none, or one of another version of the program."""
    if content is None:
        return None
    try:
        return read(json.loads(content))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
