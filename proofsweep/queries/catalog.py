# ruff: noqa: S608 - the SQL is made of our own names and of quoted text
"""What a catalog page shows, from the view `catalog`; DuckDB counts, however many files there are."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime

import duckdb

from proofsweep.domain.items import proof_id_of
from proofsweep.domain.reasons import AtFault, about, plain_words_for, remedy_for
from proofsweep.domain.tags import key_of_tag, known_tag, spellings_by_key, tag_named
from proofsweep.domain.text import printable
from proofsweep.queries.changes import SINCE, compare_since, words_of_cause
from proofsweep.queries.connection import answering
from proofsweep.queries.status import NEED_ATTENTION
from proofsweep.queries.views import key_of, quoted, sql_of, value_of_tag
from proofsweep.store.parts import Results

_LONGEST_NAME, _LONGEST_VALUE = 120, 60  # letters
_MOST_VALUES = 100  # of a tag in its table
_MOST_CHANGED = 50  # files that broke, and that were mended
_OPEN = ", ".join(map(quoted, NEED_ATTENTION))
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
MOST_OF_A_REASON = 200  # files


@dataclass(frozen=True, slots=True, kw_only=True)
class PageChoice:
    catalog: str | None = None  # of a catalog page, the location of the one catalog; None for all of the environment
    tags: Sequence[str] = ()  # each has a column in the list of files that need attention, and a table of its values
    usual_tag: str | None = None  # shown if none is chosen and some file has it
    since: date | None = None  # of a catalog page, the UTC day since when to count what changed, beside the last run


@dataclass(frozen=True, slots=True)
class ReasonCount:
    outcome: str
    code: str
    files: int

    @property
    def plain(self) -> str:
        return plain_words_for(self.outcome, self.code)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionRow:
    folder: str  # of its name, with the `/` at its end; empty if it has none
    name: str
    code: str
    values: Sequence[str]
    request_id: str | None
    since: datetime | None


@dataclass(slots=True)
class Kind:
    what_to_do: str
    reasons: list[ReasonCount] = field(default_factory=list)
    shown: list[AttentionRow] = field(default_factory=list)

    @property
    def files(self) -> int:
        return sum(reason.files for reason in self.reasons)

    @property
    def has_requests(self) -> bool:
        """Whether the partner is asked about them, who needs their request IDs."""
        return any(about(reason.code).at_fault is AtFault.SERVICE for reason in self.reasons)


def kinds_of(connection: duckdb.DuckDBPyConnection, relation: str, tags: Mapping[str, Sequence[str]]) -> list[Kind]:
    """Read the kinds of a relation with the columns of `items`, the largest first; `tags` are spellings by tag."""
    counted = connection.execute(
        f"SELECT outcome, coalesce(reason, ''), count(*) FROM {relation} GROUP BY ALL ORDER BY 3 DESC, 1, 2"
    )
    kinds: dict[str, Kind] = {}
    for outcome, code, files in counted.fetchall():
        kinds.setdefault(remedy_for(code), Kind(remedy_for(code))).reasons.append(ReasonCount(outcome, code, files))
    found = connection.execute(
        f"SELECT coalesce(file, ''), audio, item_id, coalesce(reason, ''), verify_request_id, since{tag_values(tags)} "
        f"FROM {relation} QUALIFY row_number() OVER (PARTITION BY outcome, reason ORDER BY file, item_id) "
        f"<= {MOST_OF_A_REASON} ORDER BY file, item_id"
    )
    for file, audio, item_id, code, request_id, since, *values in found.fetchall():
        folder, name = shown_name(file, audio, item_id)
        kinds[remedy_for(code)].shown.append(
            AttentionRow(folder=folder, name=name, code=code, values=_short(values), request_id=request_id, since=since)
        )
    return sorted(kinds.values(), key=lambda kind: -kind.files)


def spellings_of(connection: duckdb.DuckDBPyConnection, choice: PageChoice) -> dict[str, Sequence[str]]:
    """Return the chosen tags of the table `items`, each with its spellings; UsageError if no row has one of them."""
    if not choice.tags and choice.usual_tag is None:
        return {}
    query = "SELECT DISTINCT unnest(json_keys(tags)) FROM items WHERE json_valid(tags) ORDER BY ALL"
    known = [tag for (tag,) in connection.execute(query).fetchall()]
    usual = [] if choice.usual_tag is None else [tag_named(choice.usual_tag, known)]
    names = [known_tag(tag, known) for tag in choice.tags] or [tag for tag in usual if tag is not None]
    spellings = spellings_by_key(known)
    return {name: spellings[key_of_tag(name)] for name in names}


def tag_values(tags: Mapping[str, Sequence[str]]) -> str:
    return "".join(f", {value_of_tag(spellings)}" for spellings in tags.values())


def shown_name(file: str, audio: str | None, item_id: str) -> tuple[str, str]:
    """Return a file's folder and name on one line; of a very long one the end. A proof ID is not for a page."""
    is_file = audio is None or proof_id_of(audio) is None
    line = printable(file if is_file and file else item_id)
    short = line if len(line) <= _LONGEST_NAME else "…" + line[-_LONGEST_NAME:]
    folder, slash, name = short.rstrip("/").rpartition("/")
    return folder + slash, name


def _short(values: Iterable[str | None]) -> list[str]:
    lines = [printable(value or "") for value in values]
    return [line if len(line) <= _LONGEST_VALUE else line[: _LONGEST_VALUE - 1] + "…" for line in lines]


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
