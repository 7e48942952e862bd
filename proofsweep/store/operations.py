"""The objects of operations: an intent before the first call, parts of tables, and a receipt at the end."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import count
from typing import Any

from proofsweep.errors import NameTaken, ResultsError
from proofsweep.model import layout
from proofsweep.model.operations import Operation, operation_of
from proofsweep.model.tables.columns import Row
from proofsweep.model.tables.registry import written_by
from proofsweep.store.lease import Lease
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.receipts import Part, link_to, newest_receipts
from proofsweep.store.store import json_bytes

_BUSY = "Another process works on this operation: {holder}."


def receipted_parts(receipt: Mapping[str, Any]) -> list[Part]:
    """Return the parts that the receipt of an operation names.

    Raises:
        KeyError, ValueError, TypeError: it is damaged.
    """
    return [Part(name=each["name"], rows=int(each["rows"]), sha256=each["sha256"]) for each in receipt["parts"]]


class Operations:
    """Reads and writes the operations of one results store."""

    def __init__(self, results: Results) -> None:
        self.results = results

    def lease(self, operation_id: str) -> Lease:
        """Return the lease of an operation, which its process holds while it works."""
        return Lease(Results(self.results.store.within("_operating")), operation_id, busy=_BUSY)

    def ids(self, since: str = "") -> list[str]:
        """List the operations that sort after an ID, the oldest first."""
        return self.results.store.folders(layout.OPERATIONS_FOLDER, since)

    def write_intent(self, operation: Operation, facts: Mapping[str, object]) -> None:
        """Say what an operation is about to do; `facts` are what it needs to continue after a crash.

        Raises:
            NameTaken: there is one with this ID.
        """
        document = {**operation.document(), **facts}
        self.results.store.create(layout.operation_intent_name(operation.operation_id), json_bytes(document))

    def intent(self, operation_id: str) -> dict[str, object] | None:
        """Read what an operation was about to do; None if it has no intent.

        Raises:
            ResultsError: it is damaged.
        """
        return self._document(layout.operation_intent_name(operation_id))

    def receipt(self, operation_id: str) -> dict[str, object] | None:
        """Read how an operation ended; None if it is at work, or was killed.

        Raises:
            ResultsError: it is damaged.
        """
        return self._document(layout.operation_receipt_name(operation_id))

    def ended_parts(self, operation_id: str) -> list[Part]:
        """Return the parts that an operation's receipt names; none without a receipt.

        Raises:
            ResultsError: the receipt is damaged.
        """
        try:
            return receipted_parts(self.receipt(operation_id) or {"parts": []})
        except (KeyError, ValueError, TypeError) as damage:
            raise self._damaged(layout.operation_receipt_name(operation_id)) from damage

    def operation(self, operation_id: str) -> Operation | None:
        """Read an operation; None if there is no such one.

        Raises:
            ResultsError: what it wrote is damaged.
        """
        if not layout.is_run_id(operation_id):
            return None
        document = self.receipt(operation_id) or self.intent(operation_id)
        try:
            return None if document is None else operation_of(document)
        except (KeyError, ValueError) as damage:
            raise self._damaged(layout.operation_folder(operation_id)) from damage

    def publish(self, operation: Operation, table: str, rows: Sequence[Row], seq: int) -> tuple[Part, int]:
        """Write rows as one part under the first free number from `seq` on; give it, and the number after it."""
        for number in count(seq):
            name = layout.operation_part_name(table, operation.operation_id, operation.run_date, number)
            try:
                return self.results.create_part(name, table, rows), number + 1
            except NameTaken:  # of an attempt at the operation that was killed
                continue
        raise AssertionError

    def parts_of(self, operation: Operation) -> list[str]:
        """List the parts of an operation in all tables, also of one that has no receipt."""
        tables = ("exchanges", *written_by("operation"))
        folders = [layout.table_folder(table, operation.run_date) for table in tables]
        names = [name for folder in folders for name in self.results.store.names(folder)]
        return [name for name in names if layout.run_of(name) == operation.operation_id]

    def write_receipt(self, operation: Operation, document: Mapping[str, object]) -> None:
        """Say how an operation ended; the receipt holds its intent, and the newest receipts before it.

        Raises:
            NameTaken: it has ended before.
        """
        store, (name, intent) = self.results.store, layout.operation_names(operation.operation_id)
        held = [*link_to(store, [intent]), *map(asdict, newest_receipts(store, operation.operation_id))]
        store.create(name, json_bytes({**operation.document(), **document, "earlier_receipts": held}))

    def _document(self, name: str) -> dict[str, object] | None:
        content = self.results.store.read(name)
        try:
            document = None if content is None else json.loads(content)
        except ValueError as damage:
            raise self._damaged(name) from damage
        if content is not None and not isinstance(document, dict):
            raise self._damaged(name)
        return document

    def _damaged(self, name: str) -> ResultsError:
        url = self.results.store.url
        return ResultsError(f"{name} in the results store {url} is damaged: it is not whole. Restore it from a backup.")
