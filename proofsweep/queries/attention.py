# ruff: noqa: S608 - the SQL is made of our own names and of quoted text
"""Files that need attention, by what is wrong with them: what `rejects` and both pages show.

The functions read any relation with the columns of the view `rejects`, and `since`.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import duckdb

from proofsweep.domain.reasons import plain_words_for, remedy_for
from proofsweep.domain.runs import OUTCOMES
from proofsweep.domain.tags import key_of_tag, known_tag, spellings_by_key, tag_named
from proofsweep.queries.connection import answering
from proofsweep.queries.selected_rows import SelectedRows
from proofsweep.queries.status import NEED_ATTENTION
from proofsweep.queries.views import key_of, quoted, value_of_tag

OPEN = ", ".join(map(quoted, NEED_ATTENTION))
FILES_OF_RUN = f"""(
    SELECT
        coalesce(relative_path, audio) AS file, audio, sidecar, item_id, outcome, reason, verify_request_id,
        manifest_line, tags, NULL::TIMESTAMPTZ AS since
    FROM store.verdicts WHERE run_id = {{run_id}} AND outcome IN ({OPEN})
)"""
_NO_VALUE = "NULL::VARCHAR"
_FILES_NOW = f"""
    SELECT
        file, audio, sidecar, item_id, outcome, reason, verify_request_id, manifest_line, tags,
        NULL::TIMESTAMPTZ AS since, state = 'gone' AS is_gone
    FROM catalog WHERE outcome IN ({OPEN}) AND state <> 'moved'
"""
_GROUPS = """
    SELECT
        min(nullif({value}, '')), outcome, coalesce(reason, '') AS code,
        coalesce(reason = 'unreadable' AND sidecar IS NULL, false) AS is_alone,
        outcome <> 'rejected' AND list_contains($given_up::VARCHAR[], item_id) AS is_given_up, count(*) AS files,
        arg_min(
            struct_pack(
                file := coalesce(file, ''), audio := audio, item_id := item_id, line := manifest_line,
                request_id := verify_request_id, since := since, tags := [{shown}]::VARCHAR[]
            ),
            (coalesce(file, ''), item_id), {most}
        )
    FROM {relation}
    GROUP BY nullif({key}, ''), outcome, code, is_alone, is_given_up
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionFile:
    file: str  # its name from the catalog's root, else its location
    audio: str | None
    item_id: str
    line: str | None  # the manifest and the line; None in a folder
    request_id: str | None  # of the answer
    since: datetime | None  # since when it has this outcome without a break; None if nobody asked
    tags: Sequence[str | None]  # its values of the tags that are shown, in their order


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionGroup:
    """Files with the same outcome and reason, and the same value of a tag if they are put apart by one."""

    value: str | None  # of the tag; None if the files have no such tag, or are not put apart
    outcome: str
    reason: str
    is_alone: bool = False  # whether they came without a sidecar
    is_given_up: bool = False  # whether passes over a watched folder have tried them as often as they do
    rows: int  # how many there are
    files: Sequence[AttentionFile]  # the first ones by their names

    @property
    def in_words(self) -> str:
        return plain_words_for(self.outcome, self.reason)

    @property
    def what_to_do(self) -> str:
        given_up = "; given up: no pass tries it again before it is delivered anew" if self.is_given_up else ""
        return remedy_for(self.reason, is_alone=self.is_alone) + given_up


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    groups: Sequence[AttentionGroup]
    gone: int  # files that would be among these if their catalog listed them still; 0 for a run


def attention_of(
    selected: SelectedRows, *, most_files: int, tag: str | None = None, given_up: Collection[str] = ()
) -> Attention:
    """Count the files of a run, or as they stand, by kind and a tag's values; UsageError if no row has the tag."""
    plan = selected.plan
    made = _FILES_NOW if plan is None else f"SELECT *, false AS is_gone FROM {FILES_OF_RUN}"
    with answering(selected.results, selected.environment, "catalog" if plan is None else "verdicts") as connection:
        chosen = made.format(run_id=quoted("" if plan is None else plan.run_id))
        connection.execute(f"CREATE TEMP TABLE files AS {chosen}")
        [(gone,)] = connection.execute("SELECT count(*) FROM files WHERE is_gone").fetchall()
        there = "(FROM files WHERE NOT is_gone)"
        value = next(iter(tag_values(connection, there, [tag] if tag else []).values()), _NO_VALUE)
        return Attention(groups=groups_in(connection, there, most_files, value=value, given_up=given_up), gone=gone)


def groups_in(
    connection: duckdb.DuckDBPyConnection,
    relation: str,
    most_files: int,
    *,
    value: str = _NO_VALUE,
    shown: Mapping[str, str] | None = None,
    given_up: Collection[str] = (),
) -> list[AttentionGroup]:
    """Read the groups; `value` is the SQL of what puts them apart, `shown` that of the tags of each file, by name."""
    columns = ", ".join((shown or {}).values())
    query = _GROUPS.format(relation=relation, value=value, key=key_of(value), shown=columns, most=most_files)
    found = [
        AttentionGroup(
            value=value_of_group,
            outcome=outcome,
            reason=reason,
            is_alone=is_alone,
            is_given_up=is_given_up,
            rows=rows,
            files=[AttentionFile(**each) for each in files],
        )
        for value_of_group, outcome, reason, is_alone, is_given_up, rows, files in connection.execute(
            query, {"given_up": list(given_up)}
        ).fetchall()
    ]
    return sorted(
        found,
        key=lambda each: (each.value is None, each.value or "", OUTCOMES.index(each.outcome), -each.rows, each.reason),
    )


def tag_values(
    connection: duckdb.DuckDBPyConnection, relation: str, wanted: Sequence[str] = (), usual: Sequence[str] = ()
) -> dict[str, str]:
    """Return the SQL of each wanted tag's value, and of the usual ones that some row has.

    UsageError, which names the tags that there are, if no row has a wanted one; a relation without rows has none.
    """
    if not (wanted or usual) or not connection.execute(f"FROM {relation} LIMIT 1").fetchall():
        return {}
    names = f"SELECT DISTINCT unnest(json_keys(tags)) FROM {relation} WHERE json_valid(tags) ORDER BY ALL"
    spellings = spellings_by_key(name for (name,) in connection.execute(names).fetchall())
    known = [each[0] for each in spellings.values()]
    there = [known_tag(name, known) for name in wanted]
    there += [name for each in usual if (name := tag_named(each, known)) is not None]
    return {name: value_of_tag(spellings[key_of_tag(name)]) for name in dict.fromkeys(there)}
