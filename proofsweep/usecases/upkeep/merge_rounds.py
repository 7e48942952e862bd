"""Merge the rounds of monitoring of a past day: nearly a thousand small objects become four.

(1) the receipts of the rounds are written down as they are, (2) their rows become one part of each table, (3) a receipt
names both, (4) the receipts of the rounds are deleted, (5) their parts are. If it breaks off, the next merge completes
it: no row is lost, and no view shows one twice.
"""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime, timedelta
from functools import partial
from itertools import chain, count

import pyarrow as pa
import pyarrow.parquet as pq

from proofsweep import __version__
from proofsweep.domain import layout
from proofsweep.domain.operations import CallCounts, OperationKind
from proofsweep.domain.runs import EndedBy
from proofsweep.domain.tables.schemas import conformed
from proofsweep.errors import NameTaken, ResultsError
from proofsweep.storage.results.merged_rounds import DAMAGE, MergedRound, read_rounds, write_rounds
from proofsweep.storage.results.operations import Operations
from proofsweep.storage.results.plans_and_parts import SCHEMAS, Results, sha256_hex
from proofsweep.storage.results.receipts import Part
from proofsweep.usecases.explain.find_item import in_parallel

TABLES = ("probes", "usage")
"""The tables of monitoring; the place of each is the number of its merged part."""

# Days that are left as they are: alerts read the rounds of today and yesterday one by one.
_DAYS_LEFT = 2
# Chosen: requests that wait for a bucket at once, as for the index; half takes twice as long, twice gains little.
_AT_ONCE = 16


class RoundMerger:
    """Merges the rounds of one results store, day by day."""

    def __init__(self, results: Results, clock: Callable[[], datetime]) -> None:
        self._results = results
        self._operations = Operations(results)
        self.newest_day = clock().date() - timedelta(days=_DAYS_LEFT)

    def days(self) -> Iterator[date]:
        """Give the past days with parts of monitoring, the oldest first."""
        for folder in self._results.store.folders(TABLES[0]):
            with suppress(ValueError):
                day = date.fromisoformat(folder.removeprefix("run_date="))
                if day <= self.newest_day:
                    yield day

    def merge(self, day: date) -> int:
        """Merge the rounds of a past day; say how many. A round whose parts are not as its receipt says stays as it is.

        Raises:
            ResultsError: the store cannot be used, or a merge that had begun cannot be completed.
        """
        single = self._single_rounds(day)
        begun = self._begun(day) if single else {}
        done = 0
        for operation_id, rounds in begun.items():
            if any(each.operation_id in single for each in rounds):
                done += self._complete(operation_id, rounds)
                for each in rounds:
                    single.pop(each.operation_id, None)
        for operation_id, rounds in self._groups(day, single, begun).items():
            if len(rounds) > 1:
                with suppress(NameTaken):  # another process merges them too, or has
                    write_rounds(self._results.store, operation_id, rounds)  # (1)
                done += self._complete(operation_id, read_rounds(self._results.store, operation_id))
        return done

    def merge_all(self) -> tuple[int, int]:
        """Merge the rounds of all past days; say of how many days, and how many rounds.

        Raises:
            ResultsError: as `merge` does.
        """
        merged = [rounds for rounds in map(self.merge, list(self.days())) if rounds]
        return len(merged), sum(merged)

    def _begun(self, day: date) -> dict[str, list[MergedRound]]:
        """Read the merges of a day that were begun, and perhaps completed."""
        first, end = f"{day:%Y%m%d}", f"{day + timedelta(days=1):%Y%m%d}"
        ids = [each for each in self._operations.ids(first) if each < end and layout.may_be_merged(each)]
        read = {each: read_rounds(self._results.store, each) for each in ids}
        return {each: rounds for each, rounds in read.items() if rounds}

    def _single_rounds(self, day: date) -> dict[str, set[str]]:
        """Give the parts of the rounds of a day that are not merged, by operation."""
        found: defaultdict[str, set[str]] = defaultdict(set)
        for folder in (layout.table_folder(table, day) for table in TABLES):
            for name in self._results.store.names(folder):
                found[layout.run_of(name)].add(name)
        return {each: names for each, names in found.items() if not layout.may_be_merged(each)}

    def _groups(
        self, day: date, single: Mapping[str, set[str]], begun: Collection[str]
    ) -> dict[str, list[MergedRound]]:
        """Sort the rounds that can be merged by the operation that they go into: a new one for each service."""
        found: defaultdict[str, list[MergedRound]] = defaultdict(list)
        for each in in_parallel(sorted(single), partial(self._sound_round, single)):
            if each is not None:
                service = f"{each.operation.environment}\0{each.operation.base_url}"
                found[next(name for name in _names_of(day, service) if name not in begun)].append(each)
        return found

    def _sound_round(self, single: Mapping[str, set[str]], operation_id: str) -> MergedRound | None:
        """Read a round's receipt; None unless it is one, and its parts are there as it says, and no other."""
        content = self._results.store.read(layout.operation_receipt_name(operation_id))
        try:
            found = MergedRound(operation_id, (content or b"").decode())
            CallCounts().add_all(found.document)
            is_round = found.operation.kind == OperationKind.MONITORING
            is_whole = {part.name for part in found.parts} == single[operation_id]
            owners = {owner for _, rows in self._rows_of(found) for owner in rows["operation_id"].to_pylist()}
        except (*DAMAGE, pa.ArrowException, ResultsError):
            return None
        return found if is_round and is_whole and owners == {operation_id} else None

    def _complete(self, operation_id: str, rounds: Sequence[MergedRound]) -> int:
        """Bring a merge to its end, wherever it broke off; say how many rounds it has."""
        store = self._results.store
        try:
            self._publish(operation_id, rounds)
        except ResultsError:
            if store.read(layout.operation_receipt_name(operation_id)) is None:
                raise  # else another process has completed it meanwhile
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(self._forget, rounds))  # (4)
            list(pool.map(store.delete, [part.name for each in rounds for part in each.parts]))  # (5)
        return len(rounds)

    def _publish(self, operation_id: str, rounds: Sequence[MergedRound]) -> None:
        store = self._results.store
        if store.read(layout.operation_receipt_name(operation_id)) is not None:
            return
        operation = replace(rounds[0].operation, operation_id=operation_id)
        read = list(chain.from_iterable(in_parallel(rounds, self._rows_of)))
        parts = []
        for number, table in enumerate(TABLES):
            tables = [rows for name, rows in read if name == table]
            if tables:
                name = layout.operation_part_name(table, operation_id, operation.run_date, number)
                parts.append(self._part(name, table, pa.concat_tables(tables, promote_options="default")))  # (2)
        receipt = _receipt_of(rounds, parts, sha256_hex(store.read(layout.rounds_name(operation_id)) or b""))
        with suppress(NameTaken):
            self._operations.write_receipt(operation, receipt)  # (3)

    def _part(self, name: str, table: str, rows: pa.Table) -> Part:
        try:
            return self._results.create_part(name, table, rows)
        except NameTaken:  # written before the kill, or by another process: of the same rounds
            part = self._results.part(name)
        if part.rows != rows.num_rows:
            raise ResultsError(f"{name} in the results store {self._results.store.url} is not the one of its rounds.")
        return part

    def _rows_of(self, each: MergedRound) -> list[tuple[str, pa.Table]]:
        """Read the rows of a round, each part with its table.

        Raises:
            ResultsError: a part is not as the receipt says.
        """
        return [(part.name.partition("/")[0], self._recorded_rows(part)) for part in each.parts]

    def _recorded_rows(self, part: Part) -> pa.Table:
        content, table = self._results.store.read(part.name) or b"", part.name.partition("/")[0]
        if sha256_hex(content) != part.sha256 or table not in TABLES:
            raise ResultsError(
                f"{part.name} in the results store {self._results.store.url} is not as its receipt says; run proofsweep"
                " audit."
            )
        return conformed(pq.ParquetFile(pa.BufferReader(content)).read(use_threads=False), SCHEMAS[table])

    def _forget(self, each: MergedRound) -> None:
        self._results.store.delete(layout.operation_receipt_name(each.operation_id))
        self._results.store.forget_folder(layout.operation_folder(each.operation_id))


def _names_of(day: date, service: str) -> Iterator[str]:
    """Name the operations for rounds of a service: a second one takes rounds that came after the first."""
    for number in count():
        yield layout.merged_rounds_id(day, hashlib.sha256(f"{service}\0{number}".encode()).hexdigest()[:6])


def _receipt_of(rounds: Sequence[MergedRound], parts: Sequence[Part], rounds_sha256: str) -> dict[str, object]:
    """Give what the receipt of merged rounds says: their sums."""
    counts, last = CallCounts(), rounds[-1].document
    for each in rounds:
        counts.add_all(each.document)
    return {
        "key_fingerprint": last.get("key_fingerprint"),
        "proofsweep_version": __version__,
        "counts": {"rounds": len(rounds)},
        "rounds_sha256": rounds_sha256,
        **counts.document(),
        "ended_by": EndedBy.COMPLETE,
        "why": None,
        "finished_at": last.get("finished_at"),
        "parts": [part.document() for part in parts],
    }
