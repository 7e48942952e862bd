"""Operations: runs of another kind than verifying a catalog. What they have left in a store, as readers ask for it.

So with monitoring: of each environment and day `probes` has one part, which every pass writes anew with its rows.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from datetime import date, datetime
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from proofsweep.config.threads import sleep, some_at_once
from proofsweep.domain.items import Row
from proofsweep.domain.runs import Operation
from proofsweep.store import layout
from proofsweep.store.objects import REQUESTS_AT_ONCE, Store, read_document
from proofsweep.store.parts import SCHEMAS, Results, parquet_of, read_table
from proofsweep.store.runs import OPERATION

_TABLE = "probes"
_LOOK_AGAIN_SECONDS = 0.5  # longer than another pass takes to read a part and to write it
_RECOVERED = ["recovered_to", "sidecar_sha256"]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaReading:
    """What the service said to a probe that it told the quota."""

    started_at: datetime
    rate_remaining: int
    rate_reset: datetime | None
    sunset: str | None


_READ = [field.name for field in fields(QuotaReading)]


def operation_of(store: Store, operation_id: str) -> Operation | None:
    """Read an operation; None if there is no such one. ResultsError if it is damaged."""
    if not layout.kind_of(operation_id):
        return None
    return read_document(store, layout.plan_name(operation_id), OPERATION)


def environments_of_operations(results: Results) -> set[str]:
    return {record.plan.environment for record in results.log.runs().operations.values()}


def environments_of_probes(results: Results) -> set[str]:
    store = results.store
    days = [f"{_TABLE}/{day}" for day in store.folders(_TABLE)]
    # The part of an environment has the same name on each day, so one of each name is enough to read.
    one_of_each: dict[str, str] = {}
    for part in chain.from_iterable(some_at_once(days, store.names, REQUESTS_AT_ONCE)):
        _, _, name = part.rpartition("/")
        one_of_each[name] = part
    probed = results.table(_TABLE, one_of_each.values(), ["environment"])["environment"]
    return set(map(str, probed.unique().to_pylist()))


def is_complete(results: Results, operation_id: str) -> bool:
    record = results.log.runs().operations.get(operation_id)
    return record is not None and record.is_complete


def recovered_sidecars(results: Results) -> frozenset[tuple[str, str]]:
    """Return the location and hex sha256 of each sidecar that a recovery has written."""
    parts = results.all_parts("recoveries")
    table = results.table("recoveries", parts, _RECOVERED)
    written = table.filter(pc.is_valid(table["recovered_to"]))
    columns = [written[name].to_pylist() for name in _RECOVERED]
    return frozenset(zip(*columns, strict=True))


def add_pass(
    results: Results,
    environment: str,
    began: datetime,
    rows: Sequence[Row],
    rest: Callable[[float], object] = sleep,
) -> None:
    """Add the rows of a pass that began then; ResultsError if the store cannot be used, or the part is damaged."""
    schema = SCHEMAS[_TABLE]
    name = _part_of(environment, began.date())
    new = pa.Table.from_pylist(list(rows), schema=schema)
    added = {row["operation_id"] for row in rows}
    # Another pass may have read the part before, and write it without these rows: so they are looked for afterwards.
    while True:
        stored = _probes_in(results, name, schema)
        if added <= set(stored["operation_id"].to_pylist()):
            return
        both = pa.concat_tables([stored, new])
        results.store.replace(name, parquet_of(both))
        rest(_LOOK_AGAIN_SECONDS)


def probes_of(results: Results, environment: str, columns: list[str], days: Iterable[date]) -> pa.Table:
    schema = pa.schema([SCHEMAS[_TABLE].field(name) for name in columns])
    names = [_part_of(environment, day) for day in days]
    tables = [_probes_in(results, name, schema) for name in names]
    return pa.concat_tables([schema.empty_table(), *tables])


def newest_probes(results: Results, environment: str, since: date | None) -> list[QuotaReading]:
    """Return the probes of the last day on which some were told the quota, since a day if one is named."""
    days: list[date] = []
    for folder in results.store.folders(_TABLE):
        with suppress(ValueError):  # somebody's own folder
            days.append(date.fromisoformat(folder.rpartition("=")[2]))
    for day in sorted(days, reverse=True):
        if since is not None and day < since:
            break
        rows = probes_of(results, environment, _READ, [day]).to_pylist()
        told = [QuotaReading(**row) for row in rows if row["rate_remaining"] is not None]
        if told:
            return told
    return []


def _part_of(environment: str, day: date) -> str:
    folder = layout.table_folder(_TABLE, day)
    digest = hashlib.sha256(environment.encode()).hexdigest()
    return f"{folder}/{digest[:8]}.parquet"


def _probes_in(results: Results, name: str, schema: pa.Schema) -> pa.Table:
    # The part is asked for itself: where a listing lags, a pass would replace it without its rows.
    content = results.store.read(name)
    if content is None:
        return schema.empty_table()
    return read_table(results.store, name, schema, content)
