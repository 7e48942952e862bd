"""Which answers answer nothing any more: the service has erased the proof since, so it would not give them again.

An erasure is an event of the same clock as the answers. What people read (`queries`) keeps such an answer, as given.
"""

from collections.abc import Iterator
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from proofsweep.domain.runs import OperationKind
from proofsweep.store import layout
from proofsweep.store.journal import read_journal
from proofsweep.store.parts import Results

_COLUMNS = ["environment", "proof_id", "answered_at", "reason"]


class Erasures:
    """The proofs of one environment that are known to be gone, and when the service last said so."""

    def __init__(self, results: Results, environment: str) -> None:
        """Read the table, and the journals of erasures that have not ended: one may be at work, or killed."""
        self._told_at: dict[str, datetime] = {}
        is_told = pc.field("environment") == environment
        is_told &= pc.field("reason").is_null()
        for rows in _rows(results):
            for erasure in rows.filter(is_told).to_pylist():
                proof_id = str(erasure["proof_id"])
                answered_at = erasure["answered_at"]
                earlier = self._told_at.get(proof_id, answered_at)
                self._told_at[proof_id] = max(earlier, answered_at)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that `without` needs; none if no proof is known to be gone."""
        return ("proof_id", "answered_at") if self._told_at else ()

    def without(self, answers: pa.Table) -> pa.Table:
        """Leave out the answers that are older than the erasure of their proof."""
        if not self._told_at:
            return answers
        proof_ids = answers["proof_id"].to_pylist()
        times = answers["answered_at"].to_pylist()
        are_newer = list(map(self._is_newer, proof_ids, times))
        return answers.filter(pa.array(are_newer, pa.bool_()))

    def _is_newer(self, proof_id: object, answered_at: datetime | None) -> bool:
        erased_at = self._told_at.get(str(proof_id))
        return erased_at is None or answered_at is None or answered_at > erased_at


def _rows(results: Results) -> Iterator[pa.Table]:
    # The journals first: their rows are in a part before they are gone from there.
    for operation_id, record in results.log.runs().operations.items():
        if record.plan.kind != OperationKind.ERASURE:
            continue
        for leg in record.open:
            folder = layout.journal_folder(operation_id, leg.leg)
            for _, rows in read_journal(results.store, folder, "erasures"):
                yield rows.select(_COLUMNS)
    yield from results.tables(results.all_parts("erasures"), _COLUMNS)
