"""How files stood after each of the last nights, and since when each of them is open.

The rows of a file become two sets of bits: of the turns in which it was accepted, and of those in which it was not. Up
to a turn, the larger number of both has the newer row. So no row is sorted, and a store of many nights needs the memory
of its files alone.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import duckdb

from proofsweep.domain.runs import OUTCOMES
from proofsweep.queries.selected_rows import IS_OPEN
from proofsweep.store.runs import RunRecord

BEFORE_ALL = date.min
"""Since when a file is open that was open before the first of the nights."""
# A turn is a bit: the first run of a day of each catalog, and the later ones, as far as they are no passes. A file has
# one row in it, or counts as accepted if any is. All runs before the first night are turn 0; of these, only those
# count that came since the last one which left nothing out. Of a run that does not count, as of a retired list, those
# files do that are listed now. There are as many turns as bits: days of nights come first, then the newest others.
_TURNS = """
CREATE TEMP TABLE turns AS
WITH chosen AS (
    SELECT
        run_id, identity, created_at::TIMESTAMPTZ::DATE AS day, day < $first AS is_before, is_partial,
        NOT is_partial AND skipped = 0 AND remaining = 0 AS is_whole,
        list_contains($counted::VARCHAR[], run_id) AS is_own, list_contains($nights::VARCHAR[], run_id) AS is_night
    FROM store.plans WHERE list_contains($runs::VARCHAR[], run_id)
),
counted AS (
    SELECT
        *, NOT is_partial AND row_number() OVER (PARTITION BY day, identity ORDER BY run_id) > 1 AS is_again,
        run_id >= coalesce(max(run_id) FILTER (is_before AND is_whole) OVER (PARTITION BY identity), '') AS is_counted,
        bool_or(is_night) OVER (PARTITION BY day) AS has_night
    FROM chosen
),
placed AS (
    SELECT
        *, NOT is_before AND
            dense_rank() OVER (ORDER BY is_before, has_night DESC, day DESC, is_again DESC) <= 62 AS has_turn
    FROM counted WHERE is_counted
)
SELECT
    run_id, is_whole OR run_id IN (SELECT run_id FROM store.listings) AS lists_all, day, is_own, is_night,
    dense_rank() OVER (ORDER BY identity) AS catalog, row_number() OVER (ORDER BY run_id) AS place,
    CASE WHEN has_turn THEN 63 - dense_rank() OVER (ORDER BY has_turn DESC, day DESC, is_again DESC) ELSE 0
        END::INTEGER AS turn,
    CASE WHEN has_turn THEN 1::UBIGINT << turn ELSE 0 END AS bit
FROM placed
"""
_HISTORIES = """
CREATE TEMP TABLE histories AS
SELECT
    item, catalog, accepted, rejected & ~accepted AS rejected, failed & ~(accepted | rejected) AS failed,
    ineligible & ~(accepted | rejected | failed) AS ineligible, (rejected | failed | ineligible) & ~accepted AS open,
    asked
FROM (
    SELECT
        hash(item_id) AS item, arg_max(catalog, place) AS catalog,
        arg_max(outcome, place) FILTER (turn = 0) AS before, {bits},
        bit_or(CASE WHEN is_night THEN bit ELSE 0 END) AS asked
    FROM store.verdicts
    JOIN (SELECT filename, turns.* FROM store.verdicts_files JOIN turns USING (run_id)) USING (filename)
    WHERE {counts}
    GROUP BY item
)
"""
_IS_LISTED = "(is_own OR hash(item_id) IN (SELECT hash(item_id) FROM files WHERE state NOT IN ('gone', 'moved')))"
_BITS = """
    bit_or(CASE outcome WHEN '{0}' THEN bit ELSE 0 END) | (before IS NOT DISTINCT FROM '{0}')::UBIGINT AS {0}
"""
# A file is gone where a run of its catalog left nothing out and does not have it, or noted that it is gone, until it
# has a row again. What is listed now is not gone since its last row: another catalog may list it.
_NIGHTS = """
WITH noted AS (
    SELECT hash(item_id) AS item, bit_or(bit) AS bits
    FROM store.gone JOIN turns USING (run_id) WHERE bit > 0 GROUP BY item
),
unlisted AS (
    SELECT hash(item_id) AS item, true AS is_gone FROM files WHERE state IN ('gone', 'moved')
),
whole AS (
    SELECT catalog, coalesce(bit_or(bit) FILTER (lists_all), 0) AS bits FROM turns GROUP BY catalog
),
alike AS (
    SELECT
        accepted, rejected, failed, ineligible, open, asked, accepted | open AS seen,
        coalesce(is_gone, false) AS is_gone, (whole.bits | coalesce(noted.bits, 0)) & ~seen AS unseen, count(*) AS files
    FROM histories
    JOIN whole USING (catalog)
    LEFT JOIN noted USING (item)
    LEFT JOIN unlisted USING (item)
    GROUP BY ALL
),
nights AS (
    SELECT
        day, (2::UBIGINT << max(turn)) - 1 AS so_far, coalesce(bit_or(bit) FILTER (is_night), 0) AS bits
    FROM turns WHERE turn > 0 GROUP BY day
),
judged AS (
    SELECT
        *, seen & so_far > 0 AND (unseen & so_far < seen & so_far OR NOT (is_gone OR seen > so_far)) AS is_there,
        (accepted & so_far) > (open & so_far) AS is_accepted,
        asked & bits AS own,
        greatest(accepted & own, rejected & own, failed & own, ineligible & own) AS newest
    FROM alike, nights
)
SELECT
    day, sum(files) FILTER (is_there), sum(files) FILTER (is_there AND is_accepted),
    {outcomes}
FROM judged GROUP BY day
"""
_OUTCOME = "sum(files) FILTER (newest > 0 AND newest = {0} & own)"
_OPEN_SINCE = """
UPDATE files SET open_since = since.day
FROM (
    SELECT item, min(CASE turn WHEN 0 THEN DATE '0001-01-01' ELSE day END) AS day
    FROM histories SEMI JOIN (FROM files WHERE {is_open}) AS files ON hash(files.item_id) = histories.item
    JOIN turns ON (open >> turn) % 2 = 1 AND accepted >> turn = 0
    GROUP BY item
) AS since
WHERE hash(files.item_id) = since.item AND {is_open}
"""


@dataclass(frozen=True, slots=True)
class DayOfFiles:
    """How many files there were after the runs of a day and were accepted, and what these runs found of which."""

    files: int
    accepted: int
    found: Counter[str]  # files by their last outcome of the day


def read_histories(
    connection: duckdb.DuckDBPyConnection,
    runs: Sequence[RunRecord],
    *,
    counted: Sequence[RunRecord],
    nights: Sequence[RunRecord],
    first: date,
) -> None:
    """Make the tables of what became of each file since a first day, and say in `files` since when each is open.

    Of the runs, some count with all their files; the others, as of a retired list, with those that are listed now. The
    nights are those that asked for files for their own sake.
    """
    parameters = {"runs": _ids_of(runs), "counted": _ids_of(counted), "nights": _ids_of(nights), "first": first}
    connection.execute(_TURNS, parameters)
    bits = ", ".join(map(_BITS.format, OUTCOMES))
    # Where all runs count with all their files, no list of files has to be looked through.
    counts = _IS_LISTED if len(runs) > len(counted) else "true"
    connection.execute(_HISTORIES.format(bits=bits, counts=counts))
    connection.execute(_OPEN_SINCE.format(is_open=IS_OPEN))


def _ids_of(runs: Sequence[RunRecord]) -> list[str]:
    return [run.plan.run_id for run in runs]


def days_of_files(connection: duckdb.DuckDBPyConnection) -> Mapping[date, DayOfFiles]:
    """Return by day how the files stood and what was found, also of files that are gone since."""
    outcomes = ", ".join(map(_OUTCOME.format, OUTCOMES))
    days: dict[date, DayOfFiles] = {}
    query = _NIGHTS.format(outcomes=outcomes)
    for day, *sums in connection.execute(query).fetchall():
        counts = [int(count or 0) for count in sums]  # a sum of no row is None
        files, accepted, *by_outcome = counts
        found = dict(zip(OUTCOMES, by_outcome, strict=True))
        days[day] = DayOfFiles(files, accepted, Counter(found))
    return days


def known_from(runs: Sequence[RunRecord], pruned: Iterable[str], retired: Sequence[RunRecord] = ()) -> date:
    """Return the first day after which it is known how files stood: of a pruned run, from the next one on.

    `runs` are the oldest first. Other lists have files of one that is `retired`: a run that leaves nothing out has a
    new row of each.
    """
    known = date.min
    lost: set[str] = set()  # catalogs whose files are not known since a pruned run
    pruned = frozenset(pruned)
    of_retired = {run.plan.identity for run in retired}
    for run in sorted([*runs, *retired], key=lambda run: run.plan.run_id):
        plan = run.plan
        is_whole = not (plan.lists_a_part or plan.skipped or run.remaining)
        # A run that leaves nothing out has a new row of each file, also of those that retired lists had.
        found_again = {plan.identity}
        if is_whole and plan.identity not in of_retired:
            found_again |= of_retired
        if not lost.isdisjoint(found_again):
            known = plan.run_date
            lost -= found_again
        if plan.run_id in pruned and not plan.lists_a_part:  # no pass has the files of another
            lost.add(plan.identity)
    if lost:
        # The newest row of each file is never pruned, so how files stand after the last run is known in any case.
        return runs[-1].plan.run_date
    return known
