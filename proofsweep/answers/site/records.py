# ruff: noqa: S608 - the SQL is made of our own names and of quoted text
"""The records of the look-up: which items have changed since the last update, by one reading of the view `catalog`.

Whatever changed an item's row (a night, a listing, a redelivery, another tag), the digest of the row tells it. So no
update depends on which ones went before.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import TemporaryDirectory

import duckdb

from proofsweep.answers.run_status import NEED_ATTENTION
from proofsweep.answers.site.levels import COLUMNS
from proofsweep.answers.views.views import quoted

# Changes of one item's answer that its record keeps. Chosen: the newest; the tables hold all.
_MOST_CHANGES = 50
# Characters of one text. Chosen: a name may be as long as a path, and a hostile one longer.
_LONGEST_TEXT = 500
# Bytes of all tags of one item. Chosen: those of a delivery by a label have some hundred.
_TAGS_BYTES = 4_000
# Letters and digits of one word. Chosen: an ISRC has 12, a UUID 32.
_LONGEST_WORD = 40
_FEWEST_OF_CODE = 4

_MACROS = (
    "CREATE OR REPLACE TEMP MACRO plain(text) AS strip_accents(lower(text))",
    r"CREATE OR REPLACE TEMP MACRO words_of(text) AS regexp_extract_all(plain(text), '[\p{L}\p{N}]+')",
    # A code is found with its separators and without: `US-RC1-76-07839`, `USRC17607839`.
    r"CREATE OR REPLACE TEMP MACRO code_of(text) AS regexp_replace(plain(text), '[^\p{L}\p{N}]+', '', 'g')",
    "CREATE OR REPLACE TEMP MACRO minute_of(instant) AS strftime(instant, '%Y-%m-%d %H:%M')",
)
_LISTING = """
    SELECT listed.*, hash(listed) AS digest FROM (
        SELECT left(md5(concat_ws(chr(10), environment, item_id)), 14) AS id, environment, item_id,
            coalesce(file, audio) AS file, catalog, state,
            is_current OR listed_run_id IS NULL AS is_current, moved_to, why, what_to_do, detail, song,
            proof_id, issued_at, run_id, verify_request_id, finished_at, tags
        FROM catalog
    ) AS listed
"""
_KNOWN = """
    CREATE OR REPLACE TEMP TABLE known AS
    SELECT id, arg_max(digest, version) AS digest FROM ({records}) GROUP BY id
"""
_CHANGED = """
    CREATE OR REPLACE TEMP TABLE changed AS
    SELECT id, environment, item_id, run_id, known.id IS NOT NULL AS is_known
    FROM listing LEFT JOIN known USING (id)
    WHERE known.digest IS DISTINCT FROM listing.digest
"""
_ANSWERS = """
    SELECT id, struct_pack(
        epoch := epoch, moment := coalesce(finished_at, created_at::TIMESTAMPTZ), run_id := verdict.run_id,
        outcome := outcome, why := coalesce(verdict, reason), uploads_request_id := uploads_request_id,
        verify_request_id := verdict.verify_request_id
    ) AS answer
    FROM store.verdicts AS verdict
    JOIN (SELECT run_id, created_at FROM store.plans) AS plan ON plan.run_id = verdict.run_id
    JOIN (SELECT id, environment, item_id FROM changed WHERE {of_items}) AS item
        ON (item.environment, item.item_id) = (verdict.environment, verdict.item_id)
    WHERE {of_runs}
"""
_EARLIER = """
    SELECT id, unnest(history) AS answer FROM (
        SELECT id, arg_max(history, version) AS history
        FROM ({records}) SEMI JOIN changed USING (id) GROUP BY id
    )
"""
_HISTORIES = f"""
    SELECT id, list(answer ORDER BY answer.epoch, answer.moment, answer.run_id)[-{_MOST_CHANGES}:] AS history
    FROM (
        SELECT id, answer, lead(id) OVER answers IS NULL AS is_last,
            (answer.outcome, answer.why) IS DISTINCT FROM lag((answer.outcome, answer.why)) OVER answers AS is_change
        FROM answers WHERE {{condition}}
        WINDOW answers AS (PARTITION BY id ORDER BY answer.epoch, answer.moment, answer.run_id)
        QUALIFY is_last OR is_change
    )
    GROUP BY id
"""
_RECORDS = f"""
    SELECT id, {{version}} AS version, digest,
        json_array(
            file, catalog, state, is_current, right(moved_to, {_LONGEST_TEXT}), why,
            CASE WHEN state <> 'accepted' THEN what_to_do END, left(detail, {_LONGEST_TEXT}), song, proof_id,
            minute_of(issued_at), run_id, minute_of(finished_at), verify_request_id, tags,
            list_transform(history, lambda each: json_array(
                each.run_id, minute_of(each.moment), each.outcome, each.why, each.uploads_request_id,
                each.verify_request_id
            ))
        )::VARCHAR AS payload,
        coalesce(history, []) AS history,
        list_distinct(list_transform(
            words_of(concat_ws(' ', file, song, array_to_string(json_extract_string(tags, '$.*'), ' '))),
            lambda word: left(word, {_LONGEST_WORD})
        ) || list_filter(
            list_transform(
                list_append(json_extract_string(tags, '$.*'), parse_filename(file, true)), lambda each: code_of(each)
            ),
            lambda code: length(code) BETWEEN {_FEWEST_OF_CODE} AND {_LONGEST_WORD} AND regexp_matches(code, '[0-9]')
        )) AS words
    FROM (
        SELECT * REPLACE (
            right(file, {_LONGEST_TEXT}) AS file, left(song, {_LONGEST_TEXT}) AS song,
            CASE WHEN strlen(tags) > {_TAGS_BYTES} THEN json_object('tags', left(tags, {_TAGS_BYTES}))
                WHEN json_valid(tags) THEN tags::JSON END AS tags
        )
        FROM listing SEMI JOIN changed USING (id) WHERE {{condition}}
    ) LEFT JOIN ({_HISTORIES}) USING (id)
"""
_OPEN = ", ".join(map(quoted, NEED_ATTENTION))
_GONE = """
    SELECT id, {version} AS version, 0::UBIGINT AS digest, NULL AS payload, [] AS history, [] AS words
    FROM known ANTI JOIN listing USING (id) WHERE digest <> 0 AND {condition}
"""
"""What is in no catalog any more, such as an item that was redacted."""


@dataclass(frozen=True, slots=True)
class ChangedRecords:
    """What has changed, as tables of a connection: how many records, of how many files, and what makes them."""

    records: int
    files: int
    need_attention: int  # of all files
    version: int

    def query(self, condition: str) -> str:
        """Return the query for the records whose ID meets a condition."""
        rows = f"{_RECORDS} UNION ALL {_GONE}".format(version=self.version, condition=condition)
        return f"SELECT {COLUMNS} FROM ({rows})"


@contextmanager
def changed_records(
    connection: duckdb.DuckDBPyConnection, version: int, known: str | None, over: Sequence[str]
) -> Iterator[ChangedRecords]:
    """Find what has changed; what is large of it is in files until the context ends.

    `known` is the query for the records of the site, None if it has none; `over` names the runs that had ended when
    these were made, whose answers they hold.
    """
    with TemporaryDirectory(prefix="proofsweep-site-") as folder:
        for statement in _MACROS:
            connection.execute(statement)
        _keep(connection, "listing", _LISTING, folder)
        connection.execute(_KNOWN.format(records=known or _NONE))
        connection.execute(_CHANGED)
        _keep(connection, "answers", " UNION ALL ".join(_answers(connection, known, over)), folder)
        counts = (
            f"SELECT (FROM changed SELECT count(*)) + (SELECT count(*) FROM ({_GONE})), count(*), "
            f"count(*) FILTER (state IN ({_OPEN})) FROM listing"
        )
        ((records, files, open_files),) = connection.execute(
            counts.format(version=version, condition="true")
        ).fetchall()
        yield ChangedRecords(records, files, open_files, version)


def _keep(connection: duckdb.DuckDBPyConnection, name: str, query: str, folder: str) -> None:
    """Work a query out once, into a file: it may be larger than memory."""
    path = quoted(f"{folder}/{name}.parquet")
    connection.execute(f"COPY ({query}) TO {path} (FORMAT parquet)")
    connection.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS FROM read_parquet({path})")


_NONE = "SELECT '' AS id, 0::UBIGINT AS digest, 0 AS version WHERE false"


def _answers(connection: duckdb.DuckDBPyConnection, known: str | None, over: Sequence[str]) -> list[str]:
    """Return the queries for the answers of what has changed: those of new runs, and those that its records have.

    An item that was answered in an earlier run, but has no record, is looked for in all runs: its catalog is new.
    """
    earlier = f"list_contains([{', '.join(map(quoted, over))}]::VARCHAR[], verdict.run_id)"
    if known is None:
        return [_ANSWERS.format(of_items="true", of_runs="true")]
    found = [_ANSWERS.format(of_items="true", of_runs=f"NOT {earlier}"), _EARLIER.format(records=known)]
    is_unknown = f"NOT is_known AND {earlier.replace('verdict.', '')}"
    ((unknown,),) = connection.execute(f"SELECT count(*) FROM changed WHERE {is_unknown}").fetchall()
    return [*found, _ANSWERS.format(of_items=is_unknown, of_runs=earlier)] if unknown else found
