# ruff: noqa: S608 - the SQL is made of our own names and of quoted text
"""What the pages show: how the files of a catalog stand, or those of a run, what changed, and how the nights went.

DuckDB counts, however many files there are.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from proofsweep.domain.errors import ResultsError
from proofsweep.domain.runs import OUTCOMES
from proofsweep.domain.tags import SUPPLIER_TAG
from proofsweep.domain.text import printable
from proofsweep.queries.changes import ChangedFiles, changed_files, create_changed
from proofsweep.queries.selected_rows import AttentionGroup, ChosenFiles, SelectedRows, attention_groups
from proofsweep.queries.status import environment_in
from proofsweep.queries.views import key_of, spelling_of
from proofsweep.store.parts import Results
from proofsweep.store.runs import RunRecord
from proofsweep.store.sql import quoted

_MOST_SHOWN = 200  # files of a reason
_FILE_TAGS = ("isrc", "artist")  # are shown of each file that has them
_MOST_NIGHTS = 31  # of a trend
_COUNTS = """
    count(*) FILTER (state NOT IN ('gone', 'moved')) AS files, count(*) FILTER (is_covered) AS covered,
    count(*) FILTER (state = 'accepted') AS accepted, count(*) FILTER (state = 'rejected') AS rejected,
    count(*) FILTER (state = 'failed') AS failed, count(*) FILTER (state = 'ineligible') AS ineligible,
    count(*) FILTER (state = 'not_sent') AS not_sent, count(*) FILTER (state = 'gone') AS gone,
    count(*) FILTER (state = 'ineligible' AND reason = 'clip') AS clips
"""
_OUTCOMES = """
    SELECT run_id, outcome, count(DISTINCT manifest_row)
    FROM store.verdicts WHERE list_contains($1::VARCHAR[], run_id) GROUP BY ALL
"""
_BY_TAG = """
    SELECT {spelling} AS value, {counts}
    FROM files
    GROUP BY nullif({key}, '')
    HAVING files > 0
    ORDER BY rejected + failed + ineligible DESC, files DESC, value
"""
# Tenths of a grade that lies between 0 and 1, else round steps of a tenth of its range or more.
_GRADES = """
    WITH grades AS (
        FROM (UNPIVOT (
            SELECT grade_human AS human, grade_ai AS ai, grade_unknown AS unknown
            FROM store.verdicts WHERE run_id = {run_id}
        ) ON human, ai, unknown INTO NAME grade VALUE value)
        WHERE isfinite(value)
    ), tenth AS (
        SELECT greatest(max(value), 0) - least(min(value), 0) AS width, min(value) >= 0 AND max(value) <= 1 AS is_share
        FROM grades
    ), steps AS (
        SELECT CASE WHEN is_share THEN 0.1::DOUBLE ELSE list_min(list_filter(
            list_transform([1, 2, 5, 10], lambda each: each * 10 ** floor(log10(width / 10))),
            lambda each: each >= width / 10
        )) END AS step, is_share
        FROM tenth
    )
    SELECT
        grade, step,
        CASE WHEN is_share THEN least(floor(value * 10), 9) ELSE floor(round(value / step, 9)) END::BIGINT AS place,
        count(*)
    FROM grades, steps GROUP BY ALL ORDER BY ALL
"""


@dataclass(frozen=True, slots=True)
class FileCounts:
    """How files stand, in the order of `_COUNTS`; what is gone is none of the `files`."""

    files: int
    covered: int
    accepted: int
    rejected: int
    failed: int
    ineligible: int
    not_sent: int
    gone: int
    clips: int = 0  # of the ineligible ones, those that nobody has to verify

    @property
    def answered(self) -> int:
        """How many have an answer for their version that is listed."""
        return self.covered - self.ineligible

    @property
    def need_attention(self) -> int:
        return self.rejected + self.failed + self.ineligible - self.clips


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFacts:
    """What a page says of its files."""

    environment: str
    counts: FileCounts
    # by tag, the files of each of its values, None for files without it; those of which most need attention come first.
    tables: Mapping[str, Sequence[tuple[str | None, FileCounts]]]
    tags: Sequence[str]  # that are shown of each file
    changes: Mapping[str, ChangedFiles]  # by kind: of the run, or of the newest run of each catalog
    groups: Sequence[AttentionGroup]
    grades: Sequence[tuple[str, float, int, int]] = ()  # of a run: grade, step of its axis, place on it, and files
    catalogs: Sequence[str] = ()
    # of catalogs, the oldest first: the rows by outcome of the runs that began on one day in UTC. A run of files that
    # were asked for again is none of them.
    nights: Sequence[tuple[date, Counter[str]]] = ()


def catalog_facts(
    results: Results, environment: str, catalog: str | None = None, *, tags: Sequence[str] = ()
) -> PageFacts:
    """Read how all catalogs of an environment stand, or one by its location or name.

    Files are counted by the tags, or without one by that of suppliers if some file has it. UsageError if no file has
    one of the tags; ResultsError if there is no run, or the store cannot be read.
    """
    index = results.log.runs()
    label = environment_in(results, index.environments, environment)
    identities = {plan.identity for plan in index.plans(label, catalog)}
    every = (run for run in index.counted_first() if run.legs and run.plan.environment == label)
    runs = [run for run in every if run.plan.identity in identities]
    if not runs:
        of_it = "" if catalog is None else f" of the catalog {printable(catalog)}"
        raise ResultsError(f"There is no run{of_it} in {results.store.url}.")
    nights = [run for run in runs if "--only" not in run.plan.selection.split()] or runs
    newest = {run.plan.identity: run.plan.run_id for run in reversed(nights)}
    selected = SelectedRows(results=results, environment=label)
    with selected.opened("true" if catalog is None else _items_of(identities), "changes") as files:
        return replace(
            _facts_of(files, label, list(newest.values()), tags),
            catalogs=sorted({run.plan.identity: run.plan.catalog for run in reversed(runs)}.values()),
            nights=_nights(files, nights),
        )


def run_facts(results: Results, run_id: str, *, tags: Sequence[str] = ()) -> PageFacts:
    """Read what a run did; its files are counted by the tags as `catalog_facts` counts.

    ResultsError if there is no such run, or if it was pruned; UsageError if no file has one of the tags.
    """
    selected = SelectedRows.of(results, run_id, "")
    with selected.opened("true", "changes") as files:
        facts = _facts_of(files, selected.environment, [run_id], tags)
        return replace(facts, grades=files.connection.execute(_GRADES.format(run_id=quoted(run_id))).fetchall())


def _facts_of(files: ChosenFiles, environment: str, changed_in: Sequence[str], tags: Sequence[str]) -> PageFacts:
    create_changed(files.connection, changed_in)
    counted = files.tag_values(tags, [] if tags else [SUPPLIER_TAG])
    shown = counted | files.tag_values(usual=_FILE_TAGS)
    [counts] = files.connection.execute(f"SELECT {_COUNTS} FROM files").fetchall()
    return PageFacts(
        environment=environment,
        counts=FileCounts(*counts),
        tables={tag: _counts_by(files, value) for tag, value in counted.items()},
        tags=list(shown),
        changes=changed_files(files.connection, shown),
        groups=attention_groups(files, most_files=_MOST_SHOWN, shown=shown),
    )


def _counts_by(files: ChosenFiles, value: str) -> list[tuple[str | None, FileCounts]]:
    query = _BY_TAG.format(spelling=spelling_of(value), key=key_of(value), counts=_COUNTS)
    return [(each, FileCounts(*counts)) for each, *counts in files.connection.execute(query).fetchall()]


def _items_of(identities: Iterable[str]) -> str:
    """Return the condition for the items that catalogs list, or that a pass over a folder took.

    A location says nothing here: a list may have been verified under several names.
    """
    return f"list_has_any(identities, [{', '.join(map(quoted, sorted(identities)))}])"


def _nights(files: ChosenFiles, runs: Iterable[RunRecord]) -> list[tuple[date, Counter[str]]]:
    """Count the rows of the runs that began on the same day, over all legs of each."""
    by_day: dict[date, list[RunRecord]] = {}
    for run in runs:
        by_day.setdefault(run.plan.run_date, []).append(run)
    nights = sorted(by_day.items())[-_MOST_NIGHTS:]
    counts = _rows_by_outcome(files, [run for _, of_day in nights for run in of_day])
    return [(day, sum((counts[run.plan.run_id] for run in of_day), Counter())) for day, of_day in nights]


def _rows_by_outcome(files: ChosenFiles, runs: Sequence[RunRecord]) -> dict[str, Counter[str]]:
    """Count the rows of each run by its receipts, which stay when it is pruned.

    A leg that was killed has rows and no receipt: where receipts know of fewer rows than are finished, these are read.
    """
    counts: dict[str, Counter[str]] = {}
    for run in runs:
        told = counts[run.plan.run_id] = Counter()
        for leg in run.legs:
            told.update({outcome: leg.count(outcome) for outcome in OUTCOMES})
    # A receipt that is missing is the rare case: then the parts of these runs alone are read.
    untold = [run for run in runs if counts[run.plan.run_id].total() < run.plan.items - run.remaining]
    found = files.connection.execute(_OUTCOMES, [[run.plan.run_id for run in untold]]).fetchall() if untold else []
    read: dict[str, Counter[str]] = {}
    for run_id, outcome, rows in found:
        read.setdefault(run_id, Counter())[outcome] = rows
    for run_id, rows_read in read.items():
        counts[run_id] |= rows_read  # the larger of both: parts may have been pruned since
    return counts
