"""Every table of a results store, once: a new one is its own file, a line here, and what writes its rows."""

from proofsweep.model.tables import (
    drift,
    erasures,
    exchanges,
    ingest,
    interpretations,
    probes,
    proofs,
    recoveries,
    rotations,
    runs,
    verdicts,
)
from proofsweep.model.tables.columns import WrittenBy

TABLES = {
    table.name: table
    for table in (
        verdicts.TABLE,  # first: the rows of others may name an item by the proof that its answer names
        exchanges.TABLE,
        runs.TABLE,
        ingest.TABLE,
        drift.TABLE,
        probes.TABLE,
        rotations.TABLE,
        erasures.TABLE,
        proofs.TABLE,
        interpretations.TABLE,
        recoveries.TABLE,
    )
}
"""The tables by their names."""


def written_by(writer: WrittenBy) -> tuple[str, ...]:
    """Return the names of the tables whose rows somebody writes."""
    return tuple(name for name, table in TABLES.items() if table.written_by is writer)
