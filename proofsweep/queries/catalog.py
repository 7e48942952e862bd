# ruff: noqa: S608 - the SQL is made of our own names and of quoted text
"""How the catalogs of an environment stand, what changed last, and how it went night by night: the facts of their page.

DuckDB counts, however many files there are.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import duckdb

from proofsweep.domain.errors import ResultsError
from proofsweep.domain.runs import OUTCOMES
from proofsweep.domain.text import printable
from proofsweep.queries.attention import OPEN, AttentionGroup, groups_in, tag_values
from proofsweep.queries.changes import ChangedFiles, changed_files, create_changed
from proofsweep.queries.connection import answering
from proofsweep.queries.status import environment_in
from proofsweep.queries.views import key_of, quoted, sql_of
from proofsweep.store.parts import Results
from proofsweep.store.runs import RunIndex, RunRecord

MOST_SHOWN = 200  # files of a reason on a page
FILE_TAGS = ("isrc", "artist")  # are shown of each file that has them
_MOST_NIGHTS = 31  # of a trend
_MOST_VALUES = 100  # of a tag in its table
_ITEMS = sql_of("page_items")
_SINCE = sql_of("page_since")
_COUNTS = """
    count(*) FILTER (state NOT IN ('gone', 'moved')) AS files, count(*) FILTER (is_covered) AS covered,
    count(*) FILTER (state = 'accepted') AS accepted, count(*) FILTER (state = 'rejected') AS rejected,
    count(*) FILTER (state = 'failed') AS failed, count(*) FILTER (state = 'ineligible') AS ineligible,
    count(*) FILTER (state = 'not_sent') AS not_sent, count(*) FILTER (state = 'gone') AS gone,
    count(*) FILTER (state = 'moved') AS moved
"""
_FIRST_ANSWERS = """
    SELECT strptime(substr(first_run, 1, 8), '%Y%m%d')::DATE AS day, count(*)
    FROM (
        SELECT min(run_id) AS first_run
        FROM verdicts SEMI JOIN (FROM items WHERE is_covered AND state <> 'ineligible') USING (environment, item_id)
        WHERE outcome IN ('accepted', 'rejected')
        GROUP BY environment, item_id
    )
    GROUP BY day
"""
_BY_CATALOG = f"""
    SELECT name, {_COUNTS}
    FROM (SELECT *, unnest(identities) AS identity FROM items)
    JOIN (SELECT identity, arg_max(catalog, run_id) AS name FROM store.plans GROUP BY identity) USING (identity)
    GROUP BY identity, name
    ORDER BY name
"""
_BY_TAG = """
    SELECT
        min(nullif({value}, '')) AS value, {counts}, min(since) AS oldest,
        count(*) FILTER (change = 'broken') AS broken, count(*) FILTER (change = 'fixed') AS fixed
    FROM items LEFT JOIN (
        SELECT item_id, min(change) AS change FROM changed WHERE change IN ('broken', 'fixed') GROUP BY item_id
    ) USING (item_id)
    GROUP BY nullif({key}, '')
    ORDER BY rejected + failed + ineligible DESC, files DESC, value
"""


@dataclass(frozen=True, slots=True)
class CatalogCounts:
    """How files of a catalog stand now, in the order of `_COUNTS`; what is gone or moved is none of the `files`."""

    files: int
    covered: int
    accepted: int
    rejected: int
    failed: int
    ineligible: int
    not_sent: int
    gone: int
    moved: int

    @property
    def answered(self) -> int:
        """How many have an answer for their version that is listed."""
        return self.covered - self.ineligible

    @property
    def need_attention(self) -> int:
        return self.rejected + self.failed + self.ineligible


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueCounts:
    """How the files with one value of a tag stand; None are those without the tag."""

    value: str | None
    counts: CatalogCounts
    oldest: datetime | None  # since when one of them has needed attention without a break
    broken: int
    fixed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TagTable:
    """The values of a tag; those with most files that need attention come first."""

    tag: str
    values: Sequence[ValueCounts]
    left_out: int  # values that are not shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """What the runs checked that began on one day in UTC; a run of files that were asked for again is none of them."""

    day: date
    rows: Mapping[str, int]  # by outcome
    answered_percent: float | None = None  # of the files of today; rounded down to a tenth, as on the pages

    @property
    def checked(self) -> int:
        return sum(self.rows.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogFacts:
    environment: str
    counts: CatalogCounts
    catalogs: Sequence[tuple[str, CatalogCounts]]
    tables: Sequence[TagTable]
    changes: Mapping[str, ChangedFiles]  # in the newest run of each catalog, by kind
    tags: Sequence[str]  # that are shown of each file
    groups: Sequence[AttentionGroup]
    nights: Sequence[Night]  # the oldest first


def catalog_facts(
    results: Results,
    environment: str,
    catalog: str | None = None,
    *,
    tags: Sequence[str] = (),
    supplier_tag: str | None = None,
) -> CatalogFacts:
    """Read how all catalogs of an environment stand, or one by its location or name.

    Files are counted by the tags, or without one by that of suppliers if some file has it. UsageError if no file has
    one of the tags; ResultsError if there is no run, or the store cannot be read.
    """
    label = environment_in(results, environment)
    index = RunIndex(results).refreshed()
    identities = {plan.identity for plan in index.plans(label, catalog)}
    every = (run for run in index.newest_first() if run.legs and run.plan.environment == label)
    runs = [run for run in every if run.plan.identity in identities]
    if not runs:
        of_it = "" if catalog is None else f" of the catalog {printable(catalog)}"
        raise ResultsError(f"There is no run{of_it} in {results.store.url}.")
    nights = [run for run in runs if "--only" not in run.plan.selection.split()] or runs
    newest = {run.plan.identity: run.plan.run_id for run in reversed(nights)}
    with answering(results, label, "catalog", "verdicts", "changes") as connection:
        connection.execute(_ITEMS.format(open=OPEN, chosen="true" if catalog is None else _items_of(runs)))
        connection.execute(_SINCE.format(open=OPEN))
        create_changed(connection, list(newest.values()))
        counts = CatalogCounts(*_rows(connection, f"SELECT {_COUNTS} FROM items")[0])
        counted = tag_values(connection, "items", tags, [] if tags or supplier_tag is None else [supplier_tag])
        shown = counted | tag_values(connection, "items", usual=FILE_TAGS)
        return CatalogFacts(
            environment=label,
            counts=counts,
            catalogs=[(name, CatalogCounts(*row)) for name, *row in _rows(connection, _BY_CATALOG)],
            tables=[_by_tag(connection, tag, value) for tag, value in counted.items()],
            changes=changed_files(connection, shown),
            tags=list(shown),
            groups=groups_in(connection, f"(FROM items WHERE state IN ({OPEN}))", MOST_SHOWN, shown=shown),
            nights=_nights(nights, counts, _rows(connection, _FIRST_ANSWERS)),
        )


def _items_of(runs: Sequence[RunRecord]) -> str:
    """Return the condition for the items that the catalogs of some runs list, or that a pass over a folder took."""
    identities = ", ".join({quoted(run.plan.identity) for run in runs})
    locations = ", ".join({quoted(run.plan.catalog) for run in runs})
    return f"list_has_any(identities, [{identities}]) OR catalog IN ({locations})"


def _rows(connection: duckdb.DuckDBPyConnection, query: str) -> list[tuple[Any, ...]]:
    return connection.execute(query).fetchall()


def _by_tag(connection: duckdb.DuckDBPyConnection, tag: str, value: str) -> TagTable:
    found = _rows(connection, _BY_TAG.format(value=value, key=key_of(value), counts=_COUNTS))
    values = [
        ValueCounts(value=value, counts=CatalogCounts(*row), oldest=oldest, broken=broken, fixed=fixed)
        for value, *row, oldest, broken, fixed in found[:_MOST_VALUES]
    ]
    return TagTable(tag=tag, values=values, left_out=max(len(found) - _MOST_VALUES, 0))


def _nights(runs: Iterable[RunRecord], counts: CatalogCounts, first_answers: Iterable[tuple[date, int]]) -> list[Night]:
    checked: dict[date, Counter[str]] = {}
    for run in runs:
        rows = checked.setdefault(run.plan.run_date, Counter())
        rows.update({outcome: leg.count(outcome) for leg in run.legs for outcome in OUTCOMES})
    days = sorted(checked)[-_MOST_NIGHTS:]
    known = list(first_answers)
    answered = [sum(files for first, files in known if first <= day) for day in days[:-1]]
    return [
        Night(day=day, rows=checked[day], answered_percent=1_000 * files // counts.files / 10 if counts.files else None)
        for day, files in zip(days, [*answered, counts.answered], strict=False)
    ]
