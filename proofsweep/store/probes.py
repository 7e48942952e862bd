"""The table `probes`: of each environment and day one part, which every pass of monitoring writes anew with its rows.

Of two passes that end in the same moment, the part keeps the rows of one.
"""

import hashlib
from collections.abc import Iterable, Sequence
from datetime import date, datetime

import pyarrow as pa

from proofsweep.domain.exchanges import Call
from proofsweep.domain.items import Row
from proofsweep.store import layout
from proofsweep.store.parts import Results, parquet_of
from proofsweep.store.schemas import SCHEMAS

_TABLE = "probes"
_QUOTA = ["environment", "call", "started_at", "rate_remaining", "rate_reset"]


def add_pass(results: Results, environment: str, began: datetime, rows: Sequence[Row]) -> None:
    """Add the rows of a pass that began then; ResultsError if the store cannot be used, or the part is damaged."""
    folder = layout.table_folder(_TABLE, began.date())
    name = f"{folder}/{hashlib.sha256(environment.encode()).hexdigest()[:8]}.parquet"
    there = [name] if name in results.store.names(folder) else []
    new = pa.Table.from_pylist(list(rows), schema=SCHEMAS[_TABLE])
    results.store.replace(name, parquet_of(pa.concat_tables([results.table(_TABLE, there), new])))


def probes_of(results: Results, columns: list[str], days: Iterable[date]) -> pa.Table:
    folders = [layout.table_folder(_TABLE, day) for day in days]
    return results.table(_TABLE, [name for folder in folders for name in results.store.names(folder)], columns)


def newest_quota(results: Results, environment: str, day: date) -> tuple[datetime, int, datetime | None] | None:
    """Return when monitoring was last told the quota of an environment on a day, the calls left, and the reset."""
    told = [
        (row["started_at"], row["rate_remaining"], row["rate_reset"])
        for row in probes_of(results, _QUOTA, [day]).to_pylist()
        if (row["environment"], row["call"]) == (environment, Call.USAGE) and row["rate_remaining"] is not None
    ]
    return max(told, key=lambda each: each[0], default=None)
