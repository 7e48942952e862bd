"""Hold the snapshot of newest answers against the parts that it was made of."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest

import pyarrow as pa

from proofsweep.audit.findings import Findings
from proofsweep.errors import ResultsError
from proofsweep.model import layout
from proofsweep.store.newest_rows import reduced
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.snapshot import COLUMNS, Snapshot, legs_in
from proofsweep.verify.leg.leg_rows import LegRows

# Rows that are compared at once. Half takes twice the steps, twice needs twice the memory.
_STEP_ROWS = 5_000


def check_snapshot(results: Results, findings: Findings) -> None:
    """Reduce the rows of the legs in the snapshot anew, and compare; a store without a snapshot passes."""
    snapshot = Snapshot(results.store)
    try:
        entries = snapshot.entries()
        made = reduced(_rows_of(results, legs_in(entries)))
        pairs = zip_longest(_steps(snapshot.rows(entries=entries)), _steps(made))
        is_same = not entries or all(one is not None and one.equals(other) for one, other in pairs)
    except (ResultsError, pa.ArrowException, OSError, ValueError, TypeError, KeyError, AttributeError):
        is_same = False
    if not is_same:
        what = "does not hold the newest answers of the parts of verdicts: run proofsweep compact"
        findings.bad(layout.SNAPSHOT_FOLDER, what)


def _rows_of(results: Results, legs: Mapping[str, Sequence[int]]) -> Iterator[pa.Table]:
    for run_id, its_legs in legs.items():
        yield from LegRows(results, results.plan(run_id), its_legs)


def _steps(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Cut a sequence of tables into equal steps."""
    rest: pa.Table | None = None
    for table in tables:
        rows = table.select(list(COLUMNS))
        rest = rows if rest is None else pa.concat_tables([rest, rows])
        while rest.num_rows >= _STEP_ROWS:
            yield rest.slice(0, _STEP_ROWS)
            rest = rest.slice(_STEP_ROWS)
    if rest is not None and rest.num_rows:
        yield rest
