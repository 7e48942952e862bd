# ruff: noqa: S608 - the SQL is made of our own names and of quoted text
"""What the pages show: how the files of catalogs stand, or those of a run, what changed, and how the nights went.

DuckDB counts, however many files there are.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from operator import itemgetter

from proofsweep.domain.errors import ResultsError
from proofsweep.domain.runs import OUTCOMES
from proofsweep.domain.tags import SUPPLIER_TAG
from proofsweep.domain.text import printable
from proofsweep.queries.changes import ChangedFiles, changed_files, create_changed, files_by_kind
from proofsweep.queries.night_standing import DayOfFiles, days_of_files, known_from, read_histories
from proofsweep.queries.selected_rows import (
    IS_OPEN,
    AttentionGroup,
    ChosenFiles,
    SelectedRows,
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
    # The files there were afterwards, and the accepted ones; None if that is not known.
    standing: tuple[int, int] | None


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
    every = _of_environment(index.newest_first(), label)
    counted = _of_environment(index.counted_first(), label)
    pruned = _of_environment(index.pruned.values(), label)
    runs = _of_catalogs(counted, identities)
    if not runs:
        of_it = "" if catalog is None else f" of the catalog {printable(catalog)}"
        raise ResultsError(f"There is no run{of_it} in {results.store.url}.")
    runs.reverse()
    nights = _without_reasons(runs) or runs
    # A run of which a pruning left no row was a part of its night too: else this shows the other runs as the whole.
    own_pruned = _of_catalogs(pruned, identities)
    told = nights + _without_reasons(own_pruned)
    told.sort(key=lambda run: run.plan.run_id)
    every_day = {run.plan.run_date for run in told}
    days = sorted(every_day)[-_MOST_NIGHTS:]
    first_day, last_day = days[0], days[-1]
    shown = [run for run in told if run.plan.run_date >= first_day]
    selected = SelectedRows(results=results, environment=label)
    condition = "true" if catalog is None else _items_of(identities)
    with selected.opened(condition, "changes") as files:
        with_rows = [run for run in shown if run.plan.run_id not in index.pruned]
        read_histories(files.connection, every, counted=runs, nights=with_rows, first=first_day)
        own_ids = {run.plan.run_id for run in runs + own_pruned}
        of_retired = [run for run in every + pruned if run.plan.run_id not in own_ids]
        known = known_from(told, index.prunings, of_retired)
        of_files = days_of_files(files.connection)
        facts = _facts_of(files, label, _newest_nights(nights), tags)
        facts = replace(facts, catalogs=_catalogs(files, nights), open_since=_open_since(files, last_day))
        facts = replace(facts, nights=_nights(index, shown, of_files, known))
        if catalog is None:
            facts = replace(facts, retired=_retired(results, index, label))
        return facts


def _of_environment(runs: Iterable[RunRecord], environment: str) -> list[RunRecord]:
    """Return the runs of an environment that have a leg; a run that was only planned says nothing of files."""
    return [run for run in runs if run.legs and run.plan.environment == environment]


def _of_catalogs(runs: Iterable[RunRecord], identities: Collection[str]) -> list[RunRecord]:
    return [run for run in runs if run.plan.identity in identities]


def _without_reasons(runs: Iterable[RunRecord]) -> list[RunRecord]:
    """Return the runs that are nights: one of the files of a reason says nothing of the others."""
    return [run for run in runs if not _is_of_a_reason(run)]


def _is_of_a_reason(run: RunRecord) -> bool:
    return "--only" in run.plan.selection.split()


def _newest_nights(nights: Sequence[RunRecord]) -> list[str]:
    """Name the runs of the newest night of each catalog; `nights` are the oldest first."""
    plans = [run.plan for run in nights]
    last = {plan.identity: plan.run_date for plan in plans}
    # A catalog may have several runs of one night: each of them changed something.
    return [plan.run_id for plan in plans if plan.run_date == last[plan.identity]]


def run_facts(results: Results, run_id: str, *, tags: Sequence[str] = ()) -> PageFacts:
    """Read what a run did; its files are counted by the tags as `catalog_facts` counts.

    ResultsError if there is no such run, or if it was pruned; UsageError if no file has one of the tags.
    """
    selected = SelectedRows.of(results, run_id, "")
    with selected.opened("true", "changes") as files:
        facts = _facts_of(files, selected.environment, [run_id], tags)
        query = _GRADES.format(run_id=quoted(run_id))
        grades = files.connection.execute(query).fetchall()
        return replace(facts, grades=grades)


def _facts_of(files: ChosenFiles, environment: str, changed_in: Sequence[str], tags: Sequence[str]) -> PageFacts:
    create_changed(files.connection, changed_in)
    usual = [] if tags else [SUPPLIER_TAG]
    counted = files.tag_values(tags, usual)
    shown = counted | files.tag_values(usual=_FILE_TAGS)
    [counts] = files.connection.execute(f"SELECT {_COUNTS} FROM files").fetchall()
    tables: dict[str, list[tuple[str | None, FileCounts]]] = {}
    for tag, value in counted.items():
        tables[tag] = _counts_by(files, value)
    changes = changed_files(files.connection, shown)
    unlisted = _unlisted(files, shown)
    groups = attention_groups(files, most_files=_MOST_SHOWN, shown=shown)
    return PageFacts(
        environment=environment,
        counts=FileCounts(*counts),
        tables=tables,
        tags=list(shown),
        changes=changes,
        unlisted=unlisted,
        groups=groups,
    )


def _unlisted(files: ChosenFiles, shown: Mapping[str, str]) -> dict[str, ChangedFiles]:
    tags = ", ".join(shown.values())
    query = _UNLISTED.format(shown=tags, most=_MOST_UNLISTED)
    return files_by_kind(files.connection, query)


def _counts_by(files: ChosenFiles, value: str) -> list[tuple[str | None, FileCounts]]:
    query = _BY_TAG.format(spelling=spelling_of(value), key=key_of(value), counts=_COUNTS)
    rows = files.connection.execute(query).fetchall()
    return [(spelling, FileCounts(*counts)) for spelling, *counts in rows]


def _items_of(identities: Iterable[str]) -> str:
    """Return the condition for the items that catalogs list, or that a pass over a folder took.

    A location says nothing here: a list may have been verified under several names.
    """
    texts = ", ".join(map(quoted, sorted(identities)))
    return f"list_has_any(identities, [{texts}])"


def _nights(index: Runs, nights: Sequence[RunRecord], of_files: Mapping[date, DayOfFiles], known: date) -> list[Night]:
    """Put the runs that began on the same day together; the rows of a pruned one are known by its receipts alone."""
    by_day: dict[date, list[RunRecord]] = {}
    for run in nights:
        by_day.setdefault(run.plan.run_date, []).append(run)
    found: list[Night] = []
    for day, runs in sorted(by_day.items()):
        files = of_files.get(day, _NO_FILES)
        left: dict[str, int] = {}
        is_pruned = False
        for run in runs:
            plan = run.plan
            is_pruned = is_pruned or plan.run_id in index.prunings
            # What an earlier run of the day left is in the last one again: their sum would count it twice.
            left[plan.identity] = run.remaining
        outcomes = files.found
        if is_pruned:
            outcomes = _by_receipts(runs)
        standing = None
        if day >= known:
            standing = (files.files, files.accepted)
        left_of_all = sum(left.values())
        night = Night(day=day, catalogs=sorted(left), found=outcomes, left=left_of_all, standing=standing)
        found.append(night)
    return found


def _open_since(files: ChosenFiles, newest: date) -> OpenSince:
    query = _OPEN.format(is_open=IS_OPEN)
    [found] = files.connection.execute(query, [newest]).fetchall()
    return OpenSince(*found)


def _by_receipts(runs: Iterable[RunRecord]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for run in runs:
        for leg in run.legs:
            for outcome in OUTCOMES:
                counts[outcome] += leg.count(outcome)
    return counts


def _catalogs(files: ChosenFiles, runs: Sequence[RunRecord]) -> list[CatalogFiles]:
    """Count the files of each catalog; `runs` are the oldest first."""
    last = {run.plan.identity: run.plan for run in runs}
    query = _BY_CATALOG.format(counts=_COUNTS)
    counted: dict[str, tuple[int, FileCounts]] = {}
    for identity, own, *counts in files.connection.execute(query).fetchall():
        counted[identity] = (own, FileCounts(*counts))
    catalogs: list[CatalogFiles] = []
    for identity, plan in last.items():
        own, file_counts = counted.get(identity, (0, _NONE))
        catalog = CatalogFiles(identity, plan.catalog, file_counts, own, plan.run_date)
        catalogs.append(catalog)
    return sorted(catalogs, key=lambda catalog: catalog.location)


def _retired(results: Results, index: Runs, environment: str) -> list[tuple[str, date]]:
    """Name the catalogs that count no more, and since when, the last one first."""
    counting: set[str] = set()
    for counted in index.counted_first():
        if counted.plan.environment == environment:
            counting.add(counted.plan.identity)
    retired: dict[str, date] = {}
    last_first = sorted(index.retired.items(), key=itemgetter(1), reverse=True)
    for run_id, number in last_first:
        run = index.run(run_id)
        if run is None or run.plan.environment != environment:
            continue
        catalog = run.plan.catalog
        # A catalog that was verified again after its retirement counts.
        if run.plan.identity in counting or catalog in retired:
            continue
        if len(retired) == _MOST_RETIRED:
            break
        with suppress(ResultsError, KeyError):  # a damaged entry hinders no page
            entry = results.log.entry(number)
            retired_at = datetime.fromisoformat(str(entry.facts["retired_at"]))
            retired[catalog] = retired_at.date()
    return list(retired.items())
