"""What a run did: the facts of its page."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb

from proofsweep.domain.items import Row
from proofsweep.queries.attention import FILES_OF_RUN, AttentionGroup, groups_in, tag_values
from proofsweep.queries.catalog import FILE_TAGS, MOST_SHOWN
from proofsweep.queries.changes import ChangedFiles, changed_files, changes_in
from proofsweep.queries.connection import answering
from proofsweep.queries.status import RunStatus, describe_run
from proofsweep.queries.views import quoted, sql_of
from proofsweep.store.parts import Results

_MOST_ROWS = 10
_OF_RUN = "CREATE TEMP VIEW run_rows AS FROM store.verdicts WHERE run_id = {run_id}"
_GRADES = sql_of("run_grades")
_LABELS = """
    SELECT {column} AS label, count(*) AS files
    FROM run_rows WHERE label IS NOT NULL
    GROUP BY ALL ORDER BY files DESC, label LIMIT {most}
"""
_STANDING = "SELECT accepted, files, need_attention FROM coverage WHERE newest_run_id = {run_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    run: RunStatus
    standing: Row | None  # `accepted`, `files`, `need_attention` of its catalog, if the run is its newest whole one
    change_counts: Sequence[tuple[str, str | None, int]]  # kind, cause and files
    as_before: int  # files
    changes: Mapping[str, ChangedFiles]  # by kind
    by_tag: Mapping[str, Mapping[str | None, Counter[str]]]  # files that need attention by the values of each tag
    tags: Sequence[str]  # that are shown of each file
    groups: Sequence[AttentionGroup]
    labels: Mapping[str, Sequence[Row]]  # `label`, `files`, of what the service reports beside its verdict
    grades: Sequence[Row]  # `grade` (human, ai, unknown), `place` on the axis, its `step`, `files`


def run_facts(results: Results, run_id: str, *, tags: Sequence[str] = (), supplier_tag: str | None = None) -> RunFacts:
    """Read what a run did; its files are counted by the tags as `catalog_facts` counts.

    ResultsError if there is no such run; UsageError if no file that needs attention has one of the tags.
    """
    run, named = describe_run(results, run_id), quoted(run_id)
    with answering(results, run.plan.environment, "changes", "coverage") as connection:
        connection.execute(_OF_RUN.format(run_id=named))
        found = changes_in(connection, run_id)
        files = FILES_OF_RUN.format(run_id=named)
        counted = tag_values(connection, files, tags, [] if tags or supplier_tag is None else [supplier_tag])
        shown = counted | tag_values(connection, files, usual=FILE_TAGS)
        labels = {"classification": "Classification", "grade_risk_category": "Risk category"}
        return RunFacts(
            run=run,
            standing=next(iter(_rows(connection, _STANDING.format(run_id=named))), None),
            change_counts=found.counts(),
            as_before=found.as_before(),
            changes=changed_files(connection, shown),
            by_tag={tag: _by_value(groups_in(connection, files, 1, value=value)) for tag, value in counted.items()},
            tags=list(shown),
            groups=groups_in(connection, files, MOST_SHOWN, shown=shown),
            labels={
                words: _rows(connection, _LABELS.format(column=column, most=_MOST_ROWS))
                for column, words in labels.items()
            },
            grades=_rows(connection, _GRADES),
        )


def _rows(connection: duckdb.DuckDBPyConnection, query: str) -> list[Row]:
    return list(connection.sql(query).to_arrow_table().to_pylist())


def _by_value(groups: Sequence[AttentionGroup]) -> dict[str | None, Counter[str]]:
    """Count by a tag's values and by outcome; the value with most files comes first."""
    values: dict[str | None, Counter[str]] = {}
    for group in groups:
        values.setdefault(group.value, Counter())[group.outcome] += group.rows
    return dict(sorted(values.items(), key=lambda each: (-each[1].total(), each[0] or "")))
