"""Every table of a results store, once: a new one is its own file, a line here, and what writes its rows."""

from proofsweep.store.tables import (
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
from proofsweep.store.tables.columns import Writer

# `verdicts` first: the rows of others may name an item by the proof that its answer names.
_MODULES = (
    *(verdicts, exchanges, runs, ingest, probes),
    *(rotations, erasures, proofs, interpretations, recoveries),
)
TABLES = {module.TABLE.name: module.TABLE for module in _MODULES}
"""The tables by their names."""


def written_by(writer: Writer) -> tuple[str, ...]:
    return tuple(name for name, table in TABLES.items() if table.written_by == writer)
