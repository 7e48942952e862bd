"""Find what all tables say of one proof: answers, inventories, notes, recoveries and its erasure."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from proofsweep.domain.items import PROOF_PREFIX
from proofsweep.domain.tables.columns import Row
from proofsweep.storage.results.plans_and_parts import Results
from proofsweep.usecases.explain.find_item import in_parallel, part_of

_TIMES: Mapping[str, str | None] = {
    "verdicts": "finished_at",
    "proofs": None,
    "interpretations": "asked_at",
    "recoveries": "acted_at",
    "erasures": "asked_at",
}
"""The tables that name proofs, each with the column that says when; None for the time in the operation's ID."""


def find_proof(results: Results, wanted: str) -> list[tuple[str, datetime, Row]]:
    """Give the rows that name a proof, each with its table and time in UTC, the newest first; none if no row does.

    Args:
        results: the store.
        wanted: the proof's ID, or `proof:<id>`.

    Raises:
        ResultsError: a part cannot be read.
    """
    proof_id = wanted.removeprefix(PROOF_PREFIX)
    found = [(table, _time_of(table, row), row) for table in _TIMES for row in _rows_of(results, table, proof_id)]
    return sorted(found, key=lambda each: each[1], reverse=True)


def _rows_of(results: Results, table: str, proof_id: str) -> Iterator[Row]:
    """Read the rows of a proof; of most parts only the IDs are read."""
    names = list(results.all_parts(table))
    is_proof = pc.field("proof_id") == proof_id
    columns = ["proof_id"]
    if table == "verdicts":  # one that was verified by its ID may have no answer
        is_proof |= pc.field("audio") == f"{PROOF_PREFIX}{proof_id}"
        columns.append("audio")
    for name, ids in zip(names, in_parallel(names, partial(part_of, results, columns)), strict=True):
        if ids.filter(is_proof).num_rows:
            whole: pa.Table = part_of(results, None, name)
            yield from whole.filter(is_proof).to_pylist()


def _time_of(table: str, row: Row) -> datetime:
    column = _TIMES[table]
    if column is None:
        return datetime.strptime(str(row["operation_id"])[:16], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    return datetime.fromisoformat(str(row[column])).astimezone(UTC)
