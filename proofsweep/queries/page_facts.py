# ruff: noqa: S608 - the SQL is made of our own names and of quoted text
"""What the pages show: how the files of catalogs stand, or those of a run, what changed, and how the nights went.

DuckDB counts, however many files there are.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from itertools import chain
from operator import itemgetter

from proofsweep.domain.errors import ResultsError
from proofsweep.domain.runs import OUTCOMES
from proofsweep.domain.tags import SUPPLIER_TAG
from proofsweep.domain.text import printable
from proofsweep.queries.changes import ChangedFiles, changed_files, create_changed
from proofsweep.queries.night_standing import DayOfFiles, days_of_files, known_from, read_histories
from proofsweep.queries.selected_rows import (
    IS_OPEN,
    AttentionGroup,
    ChosenFiles,
    SelectedRows,
    ShownFile,
    attention_groups,
)
from proofsweep.queries.status import environment_in
from proofsweep.queries.views import key_of, spelling_of
from proofsweep.store.parts import Results
from proofsweep.store.runs import RunRecord, Runs
from proofsweep.store.sql import quoted

_MOST_SHOWN = 200  # files of a reason
_FILE_TAGS = ("isrc", "artist")  # are shown of each file that has them
_MOST_NIGHTS = 31  # of a trend
_MOST_UNLISTED = 50
_MOST_RETIRED = 20  # catalogs, of which each costs a request to the store
_COUNTS = """
    count(*) FILTER (state NOT IN ('gone', 'moved')) AS files, count(*) FILTER (is_covered) AS covered,
    count(*) FILTER (state = 'accepted') AS accepted, count(*) FILTER (state = 'rejected') AS rejected,
    count(*) FILTER (state = 'failed') AS failed, count(*) FILTER (state = 'ineligible') AS ineligible,
    count(*) FILTER (state = 'not_sent') AS not_sent, count(*) FILTER (state = 'gone') AS gone,
    count(*) FILTER (state = 'ineligible' AND reason = 'clip') AS clips, count(*) FILTER (state = 'moved') AS moved
"""
_BY_TAG = """
    SELECT {spelling} AS value, {counts}
    FROM files
    GROUP BY nullif({key}, '')
    HAVING files > 0
    ORDER BY rejected + failed + ineligible DESC, files DESC, value
"""
_BY_CATALOG = """
    SELECT identity, count(*) FILTER (len(identities) = 1 AND state NOT IN ('gone', 'moved')), {counts}
    FROM (SELECT *, unnest(identities) AS identity FROM files) GROUP BY identity
"""
_UNLISTED = """
    SELECT
        state, count(*),
        arg_min(
            struct_pack(
                file := coalesce(file, ''), audio := audio, item_id := item_id, outcome := outcome, reason := reason,
                day := finished_at::DATE, moved_to := moved_to, tags := [{shown}]::VARCHAR[]
            ),
            (coalesce(file, ''), item_id), {most}
        )
    FROM files WHERE state IN ('gone', 'moved') GROUP BY state
"""
_OPEN = "SELECT min(open_since), count(*) FILTER (open_since >= $1), count(open_since) FROM files WHERE {is_open}"
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
    moved: int = 0  # of those that are listed no more, those whose bytes are listed elsewhere; `gone` has the others

    @property
    def answered(self) -> int:
        """How many have an answer for their version that is listed."""
        return self.covered - self.ineligible

    @property
    def need_attention(self) -> int:
        return self.rejected + self.failed + self.ineligible - self.clips


_NONE = FileCounts(0, 0, 0, 0, 0, 0, 0, 0)
_NO_FILES = DayOfFiles(0, 0, Counter())


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """What the runs found that began on one day in UTC. A run of files that were asked for again is none of them."""

    day: date
    catalogs: Sequence[str]  # their identities
    found: Counter[str]  # files by outcome, each file once
    left: int  # how many rows remained in the end
    standing: (
        tuple[int, int] | None
    )  # the files there were afterwards, and the accepted ones; None if that is not known


@dataclass(frozen=True, slots=True)
class CatalogFiles:
    identity: str
    location: str
    counts: FileCounts
    own: int  # files that no other catalog lists
    last: date  # the day of its newest night


@dataclass(frozen=True, slots=True)
class OpenSince:
    """Of the files that need attention, since when the oldest is open, and how many are since the newest night."""

    oldest: date | None = None
    newly: int = 0
    known: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFacts:
    """What a page says of its files."""

    environment: str
    counts: FileCounts
    # by tag, the files of each of its values, None for files without it; those of which most need attention come first.
    tables: Mapping[str, Sequence[tuple[str | None, FileCounts]]]
    tags: Sequence[str]  # that are shown of each file
    changes: Mapping[str, ChangedFiles]  # by kind: of the run, or of the newest night of each catalog
    groups: Sequence[AttentionGroup]
    grades: Sequence[tuple[str, float, int, int]] = ()  # of a run: grade, step of its axis, place on it, and files
    unlisted: Mapping[str, ChangedFiles] = field(default_factory=dict)  # the files that are gone or moved now, by state
    open_since: OpenSince = OpenSince()
    catalogs: Sequence[CatalogFiles] = ()
    nights: Sequence[Night] = ()  # of catalogs, the oldest first
    retired: Sequence[tuple[str, date]] = ()  # catalogs that count no more, the last one first


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
    runs = [run for run in index.counted_first() if _is_of(run, label) and run.plan.identity in identities]
    if not runs:
        of_it = "" if catalog is None else f" of the catalog {printable(catalog)}"
        raise ResultsError(f"There is no run{of_it} in {results.store.url}.")
    runs.reverse()
    nights = [run for run in runs if not _is_of_a_reason(run)] or runs
    # A run of which a pruning left no row was a part of its night too: else this shows the other runs as the whole.
    pruned = [run for run in index.pruned.values() if _is_of(run, label) and run.plan.identity in identities]
    told = [*nights, *(run for run in pruned if not _is_of_a_reason(run))]
    told.sort(key=lambda run: run.plan.run_id)
    days = sorted({run.plan.run_date for run in told})[-_MOST_NIGHTS:]
    shown = [run for run in told if run.plan.run_date >= days[0]]
    selected = SelectedRows(results=results, environment=label)
    with selected.opened("true" if catalog is None else _items_of(identities), "changes") as files:
        every = [run for run in index.newest_first() if _is_of(run, label)]
        with_rows = [run for run in shown if run.plan.run_id not in index.pruned]
        read_histories(files.connection, every, counted=runs, nights=with_rows, first=days[0])
        own = {run.plan.run_id for run in [*runs, *pruned]}
        of_retired = [run for run in [*every, *index.pruned.values()] if run.plan.run_id not in own]
        gone = [run for run in of_retired if _is_of(run, label)]
        of_files, known = days_of_files(files.connection), known_from(told, index.prunings, gone)
        return replace(
            _facts_of(files, label, _newest_nights(nights), tags),
            catalogs=_catalogs(files, nights),
            nights=_nights(index, shown, of_files, known),
            open_since=_open_since(files, days[-1]),
            retired=_retired(results, index, label) if catalog is None else (),
        )


def _is_of_a_reason(run: RunRecord) -> bool:
    return "--only" in run.plan.selection.split()


def _is_of(run: RunRecord, environment: str) -> bool:
    return bool(run.legs) and run.plan.environment == environment


def _newest_nights(nights: Sequence[RunRecord]) -> list[str]:
    """Name the runs of the newest night of each catalog; `nights` are the oldest first."""
    last = {run.plan.identity: run.plan.run_date for run in nights}
    return [run.plan.run_id for run in nights if run.plan.run_date == last[run.plan.identity]]


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
        unlisted=_unlisted(files, shown),
        groups=attention_groups(files, most_files=_MOST_SHOWN, shown=shown),
    )


def _unlisted(files: ChosenFiles, shown: Mapping[str, str]) -> dict[str, ChangedFiles]:
    query = _UNLISTED.format(shown=", ".join(shown.values()), most=_MOST_UNLISTED)
    found = {}
    for state, count, first in files.connection.execute(query).fetchall():
        found[state] = ChangedFiles(count, [ShownFile(**file) for file in first])
    return found


def _counts_by(files: ChosenFiles, value: str) -> list[tuple[str | None, FileCounts]]:
    query = _BY_TAG.format(spelling=spelling_of(value), key=key_of(value), counts=_COUNTS)
    return [(each, FileCounts(*counts)) for each, *counts in files.connection.execute(query).fetchall()]


def _items_of(identities: Iterable[str]) -> str:
    """Return the condition for the items that catalogs list, or that a pass over a folder took.

    A location says nothing here: a list may have been verified under several names.
    """
    return f"list_has_any(identities, [{', '.join(map(quoted, sorted(identities)))}])"


def _nights(index: Runs, nights: Sequence[RunRecord], of_files: Mapping[date, DayOfFiles], known: date) -> list[Night]:
    """Put the runs that began on the same day together; the rows of a pruned one are known by its receipts alone."""
    by_day: dict[date, list[RunRecord]] = {}
    for run in nights:
        by_day.setdefault(run.plan.run_date, []).append(run)
    found = []
    for day, runs in sorted(by_day.items()):
        files = of_files.get(day, _NO_FILES)
        is_pruned = any(run.plan.run_id in index.prunings for run in runs)
        left = {run.plan.identity: run.remaining for run in runs}  # of its last run
        night = Night(
            day=day,
            catalogs=tuple(sorted({run.plan.identity for run in runs})),
            found=_by_receipts(runs) if is_pruned else files.found,
            left=sum(left.values()),
            standing=None if day < known else (files.files, files.accepted),
        )
        found.append(night)
    return found


def _open_since(files: ChosenFiles, newest: date) -> OpenSince:
    [found] = files.connection.execute(_OPEN.format(is_open=IS_OPEN), [newest]).fetchall()
    return OpenSince(*found)


def _by_receipts(runs: Iterable[RunRecord]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for leg in chain.from_iterable(run.legs for run in runs):
        counts.update({outcome: leg.count(outcome) for outcome in OUTCOMES})
    return counts


def _catalogs(files: ChosenFiles, runs: Sequence[RunRecord]) -> list[CatalogFiles]:
    """Count the files of each catalog; `runs` are the oldest first."""
    last = {run.plan.identity: run for run in runs}
    rows = files.connection.execute(_BY_CATALOG.format(counts=_COUNTS)).fetchall()
    counted = {identity: (own, FileCounts(*counts)) for identity, own, *counts in rows}
    found = []
    for identity, run in last.items():
        own, counts = counted.get(identity, (0, _NONE))
        found.append(CatalogFiles(identity, run.plan.catalog, counts, own, run.plan.run_date))
    return sorted(found, key=lambda catalog: catalog.location)


def _retired(results: Results, index: Runs, environment: str) -> list[tuple[str, date]]:
    """Name the catalogs that count no more, and since when, the last one first."""
    counting = {run.plan.identity for run in index.counted_first() if run.plan.environment == environment}
    found: dict[str, date] = {}
    for run_id, number in sorted(index.retired.items(), key=itemgetter(1), reverse=True):
        run = index.run(run_id)
        if run is None or run.plan.environment != environment or run.plan.identity in counting:
            continue
        if run.plan.catalog in found or len(found) == _MOST_RETIRED:
            continue
        with suppress(ResultsError, KeyError):  # a damaged entry hinders no page
            entry = results.log.entry(number)
            found[run.plan.catalog] = datetime.fromisoformat(str(entry.facts["retired_at"])).date()
    return list(found.items())
