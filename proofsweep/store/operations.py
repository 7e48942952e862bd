"""Operations: uses of the partner's other endpoints. An intent before the first call, a journal, parts, a receipt."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import count

import pyarrow.compute as pc

from proofsweep.domain.errors import NameTaken
from proofsweep.domain.items import Row
from proofsweep.domain.operations import Operation, operation_of
from proofsweep.store import layout
from proofsweep.store.lease import Lease
from proofsweep.store.ledger import EntryKind, Ledger
from proofsweep.store.objects import Store, damaged, json_bytes, read_object, sha256_hex
from proofsweep.store.parts import Part, Results
from proofsweep.store.rows import with_instants
from proofsweep.store.tables import written_by

_JOURNAL = "journal"
_HEALED = 8  # operations before a new one of which it is seen that the ledger has them
_RECOVERED = ["recovered_to", "sidecar_sha256"]
_BUSY = "Another process works on this operation: {holder}."


class Operations:
    def __init__(self, results: Results) -> None:
        self.results = results

    def lease(self, operation_id: str) -> Lease:
        return Lease(self.results.store.within("_operating"), operation_id, busy=_BUSY)

    def ids(self, since: str = "") -> list[str]:
        return self.results.store.folders(layout.OPERATIONS_FOLDER, since)

    def write_intent(self, operation: Operation, facts: Mapping[str, object]) -> None:
        """Write what an operation will do, and the `facts` to go on after a crash; NameTaken if its ID is taken."""
        document = {**operation.document(), **facts}
        self.results.store.create(layout.operation_intent_name(operation.operation_id), json_bytes(document))

    def intent(self, operation_id: str) -> dict[str, object] | None:
        """Read what an operation was about to do; None if it has no intent. ResultsError if it is damaged."""
        return read_object(self.results.store, layout.operation_intent_name(operation_id))

    def receipt(self, operation_id: str) -> dict[str, object] | None:
        """Read how an operation ended; None if it is at work, or was killed. ResultsError if it is damaged."""
        return read_object(self.results.store, layout.operation_receipt_name(operation_id))

    def operation(self, operation_id: str) -> Operation | None:
        """Read an operation; None if there is no such one. Raises ResultsError: what it wrote is damaged."""
        if not layout.is_run_id(operation_id):
            return None
        document = self.receipt(operation_id) or self.intent(operation_id)
        try:
            return None if document is None else operation_of(document)
        except (KeyError, ValueError) as damage:
            raise damaged(self.results.store, layout.operation_folder(operation_id), "it is not whole") from damage

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
        """Write how an operation ended, then its entry in the ledger; NameTaken if it had ended.

        The last operations before it that were killed between both have theirs first.
        """
        store, name = self.results.store, layout.operation_receipt_name(operation.operation_id)
        ledger, before = Ledger(store), map(layout.operation_receipt_name, self.ids()[-_HEALED - 1 :])
        intent = store.read(layout.operation_intent_name(operation.operation_id)) or b""
        held = {"intent_sha256": sha256_hex(intent), "after_entry": ledger.newest()}
        store.create(name, json_bytes({**operation.document(), **document, **held}))
        ended = [each for each in before if each != name and store.read(each) is not None]
        ledger.append(EntryKind.OPERATION, *ended, name)


class OperationJournals:
    """The journals in a store, one for each operation whose rows are not all in parts; a step is some rows.

    `table` is that whose rows are kept.
    """

    def __init__(self, store: Store, table: str) -> None:
        self._store = store
        self._table = table

    def open(self) -> Sequence[str]:
        """List the operations that have a journal, the oldest first."""
        return sorted({layout.run_of(name) for name in self._store.names(_JOURNAL)})

    def add(self, operation_id: str, number: int, rows: Sequence[Row]) -> None:
        """Write one step, durably; ResultsError if the store cannot be written."""
        self._store.create(f"{_JOURNAL}/{operation_id}-{number:08}.json", json_bytes(rows))

    def read(self, operation_id: str) -> Iterator[Row]:
        """Read the rows of an operation, in their order; ResultsError if a step is damaged."""
        for name in self._names(operation_id):
            try:
                document = json.loads(self._store.read(name) or b"")
                yield from [with_instants(self._table, row) for row in [*document]]
            except (ValueError, TypeError, AttributeError) as damage:
                raise damaged(self._store, name) from damage

    def delete(self, operation_id: str) -> None:
        for name in self._names(operation_id):
            self._store.delete(name)

    def _names(self, operation_id: str) -> list[str]:
        return [name for name in self._store.names(_JOURNAL) if layout.run_of(name) == operation_id]


def recovered_sidecars(results: Results) -> frozenset[tuple[str, str]]:
    """Return the location and hex sha256 of each sidecar that a recovery has written."""
    table = results.table("recoveries", results.all_parts("recoveries"), _RECOVERED)
    written = table.filter(pc.is_valid(table["recovered_to"]))
    return frozenset(zip(*(written[name].to_pylist() for name in _RECOVERED), strict=True))
