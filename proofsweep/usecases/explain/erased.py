"""Whether the proof of a file was erased from this store: then the service does not know the file any more."""

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from proofsweep.domain.erasure import GONE
from proofsweep.domain.occurrences import Occurrence
from proofsweep.domain.tables.columns import Row
from proofsweep.storage.results.plans_and_parts import Results


def erasures_of(results: Results, found: Iterable[Occurrence]) -> list[Row]:
    """Give the rows of `erasures` that say that a proof of an item is gone, the newest first.

    Args:
        results: the store.
        found: what happened to the item in each run; its rows name its proofs.

    Raises:
        ResultsError: a part cannot be read.
    """
    proofs = {
        (each.plan.environment, each.row["proof_id"])
        for each in found
        if each.row is not None and each.row["proof_id"] is not None
    }
    table = results.table("erasures", results.all_parts("erasures") if proofs else [])
    rows = table.filter(pc.field("outcome").isin(pa.array(GONE))).to_pylist()
    own = [row for row in rows if (row["environment"], row["proof_id"]) in proofs]
    return sorted(own, key=lambda row: str(row["asked_at"]), reverse=True)
