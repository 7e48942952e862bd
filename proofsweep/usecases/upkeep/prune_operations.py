"""Decide what goes of old operations: rows that say how something was once, and that nothing needs any more.

Of erasures, rotations and recoveries nothing goes: they are receipts, and later answers are explained by them.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from proofsweep import __version__
from proofsweep.domain import layout
from proofsweep.domain.audit.redaction import MARKER
from proofsweep.domain.operations import Operation, OperationKind
from proofsweep.domain.pruning import Keep, PrunedObject, Pruning
from proofsweep.domain.runs import EndedBy, new_run_id
from proofsweep.storage.results.operations import Operations
from proofsweep.storage.results.plans_and_parts import Results
from proofsweep.storage.results.prunings import pruned_names, prunings_of
from proofsweep.usecases.explain.find_item import in_parallel, part_of

_TABLES = {
    OperationKind.INVENTORY: ("proofs",),
    OperationKind.INTERPRETATIONS: ("interpretations",),
    OperationKind.MONITORING: ("probes", "usage"),
}
"""The kinds of operations that age, and their tables."""

# Single rounds of a day that are pruned one by one: each leaves an intent and a receipt. Chosen: one in two hours; with
# half, who probes so seldom has to merge first; with twice, more objects are made than go.
_FEW_ROUNDS = 12

# How long an operation without a receipt is taken to be at work, as for a redaction: it has no heartbeat.
_LONGEST_OPERATION = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class OldOperations:
    """Decides what goes of each operation that ended at least so many days ago.

    Attributes:
        sizes: lists a folder of the store.
    """

    operations: Operations
    sizes: Callable[[str], dict[str, int]]
    days: int
    keep: Keep
    now: datetime

    def prunings(self) -> Iterator[Pruning]:
        """Give what goes, operation by operation; nothing is deleted.

        Raises:
            ResultsError: the store cannot be read.
        """
        for kind, tables in _TABLES.items():
            parts = self._parts_by_operation(tables)
            if kind is OperationKind.MONITORING:
                unmerged = {day.replace("-", "") for day in self.unmerged_days()}
                parts = {each: names for each, names in parts.items() if each[:8] not in unmerged}
            old_ids = [each for each in sorted(parts) if self._is_old(each)]
            kept = self._kept(kind, parts) if old_ids else ()
            for pruning in (self._pruning_of(kind, operation_id, kept) for operation_id in old_ids):
                if pruning is not None:
                    yield pruning

    def unmerged_days(self) -> list[str]:
        """Name the old days of which many rounds of monitoring are not merged, so that they stay."""
        limit = (self.now - timedelta(days=self.days)).date().isoformat()
        days = (folder.removeprefix("run_date=") for folder in self.operations.results.store.folders("probes"))
        return [day for day in days if day <= limit and self._single_rounds(day) > _FEW_ROUNDS]

    def _single_rounds(self, day: str) -> int:
        return sum(not layout.may_be_merged(layout.run_of(name)) for name in self.sizes(f"probes/run_date={day}"))

    def _parts_by_operation(self, tables: Iterable[str]) -> dict[str, list[str]]:
        found: defaultdict[str, list[str]] = defaultdict(list)
        folders = [f"{table}/{each}" for table in tables for each in self.operations.results.store.folders(table)]
        for name in chain.from_iterable(in_parallel(folders, self.sizes)):
            found[layout.run_of(name)].append(name)
        return found

    def _is_old(self, operation_id: str) -> bool:
        """Say whether an operation ended long enough ago; one without a receipt, whether it must be over since then."""
        limit = self.now - timedelta(days=self.days)
        if operation_id > new_run_id(limit, ""):
            return False
        operation, receipt = self.operations.operation(operation_id), self.operations.receipt(operation_id)
        return operation is not None and _ended_at(operation, receipt) <= limit

    def _kept(self, kind: OperationKind, parts: Mapping[str, Sequence[str]]) -> Collection[str]:
        """Name the parts that stay, whatever their age."""
        if kind is OperationKind.MONITORING:
            return ()
        if kind is OperationKind.INVENTORY:
            return {name for operation_id in self._newest_inventories(parts) for name in parts[operation_id]}
        return parts_with_newest_notes(self.operations.results, sorted(chain.from_iterable(parts.values())))

    def _newest_inventories(self, operation_ids: Iterable[str]) -> Iterator[str]:
        """Name of each environment the newest inventory that came to its end, and those after it."""
        found: set[str] = set()
        for operation_id in sorted(operation_ids, reverse=True):
            operation = self.operations.operation(operation_id)
            if operation is None or operation.environment in found:
                continue
            yield operation_id
            if (self.operations.receipt(operation_id) or {}).get("ended_by") == EndedBy.COMPLETE:
                found.add(operation.environment)

    def _pruning_of(self, kind: OperationKind, operation_id: str, newest: Collection[str]) -> Pruning | None:
        """Give what goes of an old operation; None if it keeps all its parts."""
        operation, receipt = self.operations.operation(operation_id), self.operations.receipt(operation_id)
        if operation is None or operation.kind != kind:
            return None
        objects = list(self._objects_of(operation, _TABLES[kind]))
        deleted = tuple(each for each in objects if each.name not in newest)
        if not any(each.name.partition("/")[0] in _TABLES[kind] for each in deleted):
            return None
        return Pruning(
            run_id=operation_id,
            number=len(prunings_of(self.operations.results.store, operation_id)) + 1,
            decided_at=self.now.isoformat(timespec="seconds"),
            run_ended_at=_ended_at(operation, receipt).isoformat(timespec="seconds"),
            older_than_days=self.days,
            keep=self.keep,
            kept=tuple(each.name for each in objects if each.name in newest),
            deleted=deleted,
            proofsweep_version=__version__,
            operation=kind,
        )

    def _objects_of(self, operation: Operation, tables: Sequence[str]) -> Iterator[PrunedObject]:
        """Give the parts of an operation that are in the store, those that only its receipt names, and its rounds."""
        operation_id, results = operation.operation_id, self.operations.results
        named = {part.name: part for part in self.operations.ended_parts(operation_id)}
        folders = (layout.table_folder(each, operation.run_date) for each in (*tables, "exchanges"))
        listed = {name: size for folder in folders for name, size in self.sizes(folder).items()}
        mine = {name for name in listed if layout.run_of(name) == operation_id}
        for name in sorted(mine | (named.keys() - pruned_names(results.store, operation_id))):
            part = named.get(name)
            rows, sha256 = (part.rows, part.sha256) if part is not None else (None, None)
            yield PrunedObject(name=name, size_bytes=listed.get(name, 0), rows=rows, sha256=sha256)
        if operation.kind == OperationKind.MONITORING:
            rounds = layout.rounds_name(operation_id)
            kept = self.sizes(layout.operation_folder(operation_id))
            yield from (PrunedObject(name=name, size_bytes=size) for name, size in kept.items() if name == rounds)


def parts_with_newest_notes(results: Results, names: Sequence[str]) -> set[str]:
    """Name the parts of `interpretations` with the newest note of a proof, or with its newest note that is ready.

    Raises:
        ResultsError: a part cannot be read.
    """
    read = partial(part_of, results, ["environment", "proof_id", "status", "asked_at"])
    tables = [
        table.append_column("part", pa.array([number] * table.num_rows, pa.int32()))
        for number, table in enumerate(in_parallel(names, read))
    ]
    if not tables:
        return set()
    notes = pa.concat_tables(tables, promote_options="default").filter(pc.field("proof_id") != MARKER)
    notes = notes.sort_by([("asked_at", "descending"), ("part", "descending")])
    found: set[str] = set()
    for kind in (notes, notes.filter(pc.field("status") == "ready")):
        newest = kind.group_by(["environment", "proof_id"], use_threads=False).aggregate([("part", "first")])
        found |= {names[int(str(part))] for part in newest["part_first"].unique().to_pylist()}
    return found


def _ended_at(operation: Operation, receipt: Mapping[str, object] | None) -> datetime:
    told = (receipt or {}).get("finished_at")
    return operation.started_at + _LONGEST_OPERATION if told is None else datetime.fromisoformat(str(told))
