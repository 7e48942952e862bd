"""Files that need attention, by what is wrong with them: what `rejects` and both pages show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from proofsweep.domain.reasons import plain_words_for, remedy_for
from proofsweep.domain.runs import OUTCOMES
from proofsweep.queries.selected_rows import ChosenFiles
from proofsweep.queries.status import NEED_ATTENTION
from proofsweep.queries.views import key_of, quoted

IS_OPEN = f"state IN ({', '.join(map(quoted, NEED_ATTENTION))})"
_NO_VALUE = "NULL::VARCHAR"
_GROUPS = """
    SELECT
        min(nullif({value}, '')), outcome, coalesce(reason, '') AS code, count(*),
        arg_min(
            struct_pack(
                file := coalesce(file, ''), audio := audio, item_id := item_id, line := manifest_line,
                tags := [{shown}]::VARCHAR[]
            ),
            (coalesce(file, ''), item_id), {most}
        )
    FROM files WHERE {is_open}
    GROUP BY nullif({key}, ''), outcome, code
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionFile:
    file: str  # its name from the catalog's root, else its location
    audio: str | None
    item_id: str
    line: str | None  # the manifest and the line; None in a folder
    tags: Sequence[str | None]  # its values of the tags that are shown, in their order


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionGroup:
    """Files with the same outcome and reason, and the same value of a tag if they are put apart by one."""

    value: str | None  # of the tag; None if the files have no such tag, or are not put apart
    outcome: str
    reason: str
    rows: int  # how many there are
    files: Sequence[AttentionFile]  # the first ones by their names

    @property
    def in_words(self) -> str:
        return plain_words_for(self.outcome, self.reason)

    @property
    def what_to_do(self) -> str:
        return remedy_for(self.reason)


def attention_groups(
    files: ChosenFiles, *, most_files: int, by: str | None = None, shown: Mapping[str, str] | None = None
) -> list[AttentionGroup]:
    """Read the groups; `by` is the tag that puts them apart, `shown` the SQL of the tags of each file, by name.

    UsageError if no file has the tag.
    """
    value = next(iter(files.tag_values([by]).values()), _NO_VALUE) if by else _NO_VALUE
    columns = ", ".join((shown or {}).values())
    query = _GROUPS.format(value=value, key=key_of(value), shown=columns, most=most_files, is_open=IS_OPEN)
    found = [
        AttentionGroup(
            value=value_of_group,
            outcome=outcome,
            reason=reason,
            rows=rows,
            files=[AttentionFile(**each) for each in first],
        )
        for value_of_group, outcome, reason, rows, first in files.connection.execute(query).fetchall()
    ]
    return sorted(
        found,
        key=lambda each: (each.value is None, each.value or "", OUTCOMES.index(each.outcome), -each.rows, each.reason),
    )
