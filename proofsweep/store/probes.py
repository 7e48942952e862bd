"""The table `probes`: each pass of monitoring adds one small object, and those of an hour become one part.

A row is known by its pass and its call. A part is written before the objects of its passes are deleted, so nothing is
ever missing; a reader that meets both takes one of them.
"""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, date, datetime
from itertools import groupby

import pyarrow as pa

from proofsweep.domain.errors import NameTaken, ResultsError
from proofsweep.domain.exchanges import Call
from proofsweep.domain.items import Row
from proofsweep.store import layout
from proofsweep.store.objects import REQUESTS_AT_ONCE
from proofsweep.store.parts import Results

_TABLE = "probes"
_KEY = ["operation_id", "call"]

_QUOTA = ["environment", "call", "started_at", "rate_remaining", "rate_reset"]
# Days of which hours may wait for their part: also those of the last pass before a pause, and of the turn of a day.
_NEWEST_DAYS = 2


def add_pass(results: Results, pass_id: str, began: datetime, rows: Sequence[Row]) -> None:
    """Write the rows of a pass; its ID says when it began, too."""
    results.create_part(f"{layout.table_folder(_TABLE, began.date())}/{pass_id}.parquet", _TABLE, rows)


def publish_hours(results: Results, now: datetime) -> None:
    """Make one part of the passes of each hour that is over; it can break off anywhere, and be repeated at any time.

    ResultsError if the store cannot be used, or an object is damaged.
    """
    this_hour = f"{now.astimezone(UTC):%Y%m%dT%H}"  # as the IDs of its passes begin
    for folder in results.store.folders(_TABLE)[-_NEWEST_DAYS:]:
        waiting = [name for name in results.store.names(f"{_TABLE}/{folder}") if not _is_of_hour(name)]
        for hour, passes in groupby(waiting, lambda name: _pass_in(name)[: len(this_hour)]):
            if hour < this_hour:
                _publish(results, date.fromisoformat(folder.removeprefix("run_date=")), hour, [*passes])


def read_probes(results: Results, columns: Sequence[str] | None = None, days: Iterable[date] | None = None) -> pa.Table:
    """Return some columns of the table, or all, of some days, or of all: each row once.

    The objects of the passes are read before the parts, into which another process may put them meanwhile.
    """
    listed = results.store.folders(_TABLE) if days is None else (f"run_date={day}" for day in days)
    folders = [f"{_TABLE}/{each}" for each in listed]
    needed = None if columns is None else [*columns, *(name for name in _KEY if name not in columns)]
    tables = [results.table(_TABLE, [], needed)]
    for of_hours in (False, True):
        names = [name for each in folders for name in results.store.names(each) if _is_of_hour(name) is of_hours]
        tables += _present(results, names, needed)
    rows = pa.concat_tables(tables, promote_options="default")
    indexes = {key: index for index, key in enumerate(zip(*(rows[name].to_pylist() for name in _KEY), strict=True))}
    once = rows.take(pa.array(sorted(indexes.values()), pa.int64()))
    return once if columns is None else once.select(list(columns))


def newest_quota(results: Results, environment: str, day: date) -> tuple[datetime, int, datetime | None] | None:
    """Return when monitoring was last told the quota of an environment on a day, the calls left, and the reset."""
    told = [
        (row["started_at"], row["rate_remaining"], row["rate_reset"])
        for row in read_probes(results, _QUOTA, [day]).to_pylist()
        if (row["environment"], row["call"]) == (environment, Call.USAGE) and row["rate_remaining"] is not None
    ]
    return max(told, key=lambda each: each[0], default=None)


def _publish(results: Results, day: date, hour: str, passes: Sequence[str]) -> None:
    """Write the one part of an hour, and delete the passes that it has; one that came later stays as it is."""
    name = f"{layout.table_folder(_TABLE, day)}/{hour}-000.parquet"
    rows = pa.concat_tables([results.table(_TABLE, []), *_present(results, passes, None)])
    with suppress(NameTaken):
        results.create_part(name, _TABLE, rows)
    published = frozenset(results.table(_TABLE, [name], _KEY[:1])[_KEY[0]].to_pylist())
    with ThreadPoolExecutor(REQUESTS_AT_ONCE) as pool:
        list(pool.map(results.store.delete, [each for each in passes if _pass_in(each) in published]))


def _present(results: Results, names: Iterable[str], columns: list[str] | None) -> Iterator[pa.Table]:
    """Read objects, but for those that another process deleted since they were listed."""
    with ThreadPoolExecutor(REQUESTS_AT_ONCE) as pool:
        yield from (rows for rows in pool.map(lambda name: _read(results, name, columns), names) if rows is not None)


def _read(results: Results, name: str, columns: list[str] | None) -> pa.Table | None:
    try:
        return results.table(_TABLE, [name], columns)
    except ResultsError:
        if results.store.read(name) is None:
            return None
        raise


def _pass_in(name: str) -> str:
    return name.rpartition("/")[2].removesuffix(".parquet")


def _is_of_hour(name: str) -> bool:
    """Whether a name is that of a part, not of the object of a pass."""
    return "-" in name.rpartition("/")[2]
