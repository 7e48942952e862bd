# ruff: noqa: S608 - the SQL is made of our own names and of quoted text
"""What a catalog page shows, from the view `catalog`; DuckDB counts, however many files there are."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

import duckdb

from proofsweep.domain.reasons import plain_words_for
from proofsweep.queries.attention import Kind, PageChoice, kinds_of, shown_name, spellings_of, tag_values
from proofsweep.queries.changes import SINCE, compare_since, words_of_cause
from proofsweep.queries.connection import answering
from proofsweep.queries.status import NEED_ATTENTION
from proofsweep.queries.views import key_of, quoted, value_of_tag
from proofsweep.store.parts import Results

_MOST_VALUES = 100  # of a tag in its table
_MOST_CHANGED = 50  # files that broke, and that were mended
_OPEN = ", ".join(map(quoted, NEED_ATTENTION))
_ITEMS = """
    CREATE TEMP TABLE items AS
    SELECT
        environment, item_id, identities, state, is_covered, tags, outcome, reason, NULL::TIMESTAMPTZ AS since,
        CASE WHEN state IN ({open}) THEN file END AS file,
        CASE WHEN state IN ({open}) THEN audio END AS audio,
        CASE WHEN state IN ({open}) THEN verify_request_id END AS verify_request_id
    FROM catalog
    WHERE {catalog} IS NULL OR {catalog} = catalog OR list_has_any(
        identities, (SELECT list(identity) FROM store.plans WHERE {catalog} IN (catalog, identity))
    )
"""
# Since when each item that needs attention has had its outcome without a break, by the rows that are in the store.
_SINCE = """
    UPDATE items SET since = unbroken.since
    FROM (
        SELECT environment, item_id, min(finished_at) AS since
        FROM (
            SELECT
                rows.environment, rows.item_id, rows.finished_at, rows.outcome = open_items.outcome AS is_same,
                max(
                    CASE WHEN rows.outcome <> open_items.outcome AND rows.outcome <> 'failed'
                    THEN (rows.epoch, rows.finished_at) END
                ) OVER (PARTITION BY rows.environment, rows.item_id) AS broken_at,
                (rows.epoch, rows.finished_at) AS written_at
            FROM verdicts AS rows
            JOIN (SELECT environment, item_id, outcome FROM items WHERE state IN ({open})) AS open_items
                ON (open_items.environment, open_items.item_id) = (rows.environment, rows.item_id)
        )
        WHERE is_same AND coalesce(written_at > broken_at, true)
        GROUP BY environment, item_id
    ) AS unbroken
    WHERE (items.environment, items.item_id) = (unbroken.environment, unbroken.item_id)
"""
_COUNTS = """
    count(*) FILTER (state NOT IN ('gone', 'moved')) AS files, count(*) FILTER (is_covered) AS covered,
    count(*) FILTER (state = 'accepted') AS accepted, count(*) FILTER (state = 'rejected') AS rejected,
    count(*) FILTER (state = 'failed') AS failed, count(*) FILTER (state = 'ineligible') AS ineligible,
    count(*) FILTER (state = 'not_sent') AS not_sent, count(*) FILTER (state = 'gone') AS gone,
    count(*) FILTER (state = 'moved') AS moved
"""
_FIRST_ANSWERS = """
    SELECT first_run, count(*)
    FROM (
        SELECT min(run_id) AS first_run
        FROM verdicts SEMI JOIN (FROM items WHERE is_covered AND state <> 'ineligible') USING (environment, item_id)
        WHERE outcome IN ('accepted', 'rejected')
        GROUP BY environment, item_id
    )
    GROUP BY first_run
"""
_BY_CATALOG = """
    SELECT name, {counts}
    FROM (SELECT *, unnest(identities) AS identity FROM items)
    JOIN (SELECT identity, arg_max(catalog, run_id) AS name FROM store.plans GROUP BY identity) USING (identity)
    GROUP BY identity, name
    ORDER BY name
"""
# Each run is named in a condition of its own: then only its files and those before it are opened.
_OF_RUN = "SELECT * FROM changes WHERE run_id = {run_id} AND change IN ('broken', 'fixed')"
_CHANGED = """
    CREATE TEMP TABLE {table} AS
    SELECT
        item_id, change, cause, found.file, now_audio, before_outcome, before_reason, now_outcome, now_reason,
        items.tags
    FROM items JOIN ({found}) AS found USING (item_id)
"""
_BY_TAG = """
    SELECT
        min(nullif({value}, '')) AS value, {counts}, min(since) AS oldest,
        count(*) FILTER (change = 'broken') AS broken, count(*) FILTER (change = 'fixed') AS fixed
    FROM items LEFT JOIN (SELECT item_id, change FROM changed) USING (item_id)
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
class ChangedFile:
    """A file that broke or was mended; `why` is how it stands now, or stood before it was mended."""

    folder: str
    name: str
    values: Sequence[str]
    why: str
    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Turned:
    files: int
    shown: Sequence[ChangedFile]


class CatalogFacts:
    def __init__(self, connection: duckdb.DuckDBPyConnection, choice: PageChoice) -> None:
        self._connection = connection
        self.tags = spellings_of(connection, choice)

    def counts(self) -> CatalogCounts:
        [row] = self._connection.execute(f"SELECT {_COUNTS} FROM items").fetchall()
        return CatalogCounts(*row)

    def by_catalog(self) -> list[tuple[str, CatalogCounts]]:
        found = self._connection.execute(_BY_CATALOG.format(counts=_COUNTS))
        return [(catalog, CatalogCounts(*row)) for catalog, *row in found.fetchall()]

    def shares_by(self, runs: Sequence[str]) -> list[float | None]:
        """Return how many percent of today's files were answered after each run, in order; None if there is no file."""
        counts, first = self.counts(), self._connection.execute(_FIRST_ANSWERS).fetchall()
        known = [sum(files for first_run, files in first if first_run <= run_id) for run_id in runs[:-1]]
        return [100 * files / counts.files if counts.files else None for files in (*known, counts.answered)]

    def by_tag(self, tag: str) -> TagTable:
        value = value_of_tag(self.tags[tag])
        query = _BY_TAG.format(value=value, key=key_of(value), counts=_COUNTS)
        found = self._connection.execute(query).fetchall()
        values = [
            ValueCounts(value=value, counts=CatalogCounts(*row), oldest=oldest, broken=broken, fixed=fixed)
            for value, *row, oldest, broken, fixed in found[:_MOST_VALUES]
        ]
        return TagTable(tag=tag, values=values, left_out=max(len(found) - _MOST_VALUES, 0))

    def kinds(self) -> list[Kind]:
        return kinds_of(self._connection, f"(FROM items WHERE state IN ({_OPEN}))", self.tags)

    def turned(self, table: str, change: str) -> Turned:
        [(files,)] = self._connection.execute(
            f"SELECT count(*) FROM {table} WHERE change = {quoted(change)}"
        ).fetchall()
        side = "now" if change == "broken" else "before"
        found = self._connection.execute(
            f"SELECT file, now_audio, item_id, cause, {side}_outcome, coalesce({side}_reason, '')"
            f"{tag_values(self.tags)} FROM {table} WHERE change = {quoted(change)} "
            f"ORDER BY file, item_id LIMIT {_MOST_CHANGED}"
        )
        shown = []
        for file, audio, item_id, cause, outcome, reason, *values in found.fetchall():
            folder, name = shown_name(file, audio, item_id)
            why, because = plain_words_for(outcome, reason), words_of_cause(cause)
            shown.append(
                ChangedFile(folder=folder, name=name, values=[each or "" for each in values], why=why, cause=because)
            )
        return Turned(files=files, shown=shown)


@contextmanager
def catalog_facts(
    results: Results, environment: str, choice: PageChoice, newest_runs: Sequence[str]
) -> Iterator[CatalogFacts]:
    """Read the state; `changed` and `changed_since` are tables of what changed in these runs, and since the chosen day.

    UsageError if no file has one of the tags; ResultsError if the store cannot be read.
    """
    with answering(results, environment, "catalog", "verdicts", "changes") as connection:
        catalog = "NULL::VARCHAR" if choice.catalog is None else quoted(choice.catalog)
        connection.execute(_ITEMS.format(open=_OPEN, catalog=catalog))
        connection.execute(_SINCE.format(open=_OPEN))
        connection.execute(_CHANGED.format(table="changed", found=_found(newest_runs)))
        if choice.since is not None:
            compare_since(connection, choice.since)
            connection.execute(_CHANGED.format(table="changed_since", found=_found([SINCE])))
        yield CatalogFacts(connection, choice)


def _found(runs: Sequence[str]) -> str:
    return " UNION ALL ".join(_OF_RUN.format(run_id=quoted(run_id)) for run_id in runs or [""])
