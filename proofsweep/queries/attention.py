"""The files that need attention, by what to do about them: all are counted, the first of each kind are listed."""

import json
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from proofsweep.config.locations import path_of, path_within
from proofsweep.domain.items import proof_id_of
from proofsweep.domain.reasons import plain_words_for, remedy_for
from proofsweep.domain.runs import OUTCOMES
from proofsweep.domain.tags import key_of_value, known_tag, tag_of
from proofsweep.domain.verdicts import Verdict
from proofsweep.queries.run_status import NEED_ATTENTION, NamedFile, RunStatus
from proofsweep.store.parts import Results

if TYPE_CHECKING:
    from proofsweep.queries.selected_rows import SelectedRows


_FEW_PARTS = 6  # that are read to name a few files of a run
_MOST_NAMED = 10  # files of a summary
_NAMED = ("outcome", "reason", "manifest_row", "item_id")


@dataclass(slots=True, kw_only=True)
class AttentionGroup:
    """Files with the same outcome and reason, and the same value of a tag if one was asked for."""

    value: str | None  # of the tag; None if the files have no such tag, or none was asked for
    outcome: str
    reason: str
    is_alone: bool = False  # whether they came without a sidecar
    is_given_up: bool = False  # whether passes over a watched folder have tried them as often as they do
    rows: int = 0  # how many there are
    files: list[str] = field(default_factory=list)  # the first ones, as seen from the catalog's root
    lines: list[str] = field(default_factory=list)  # of each of these, the manifest and the line; empty in a folder

    @property
    def in_words(self) -> str:
        return plain_words_for(self.outcome, self.reason)

    @property
    def what_to_do(self) -> str:
        given_up = "; given up: no pass tries it again before it is delivered anew" if self.is_given_up else ""
        return remedy_for(self.reason, is_alone=self.is_alone) + given_up


def attention_groups(
    selected: "SelectedRows", most_files: int, tag: str | None = None, given_up: Collection[str] = ()
) -> list[AttentionGroup]:
    """Count rows by kind and a tag's values, the largest first, with some names; UsageError if no row has the tag."""
    groups: dict[tuple[str | None, str, str, bool, bool], AttentionGroup] = {}
    spellings: dict[str, str] = {}
    columns = ["audio", "sidecar", "relative_path", "manifest_line", "outcome", "reason", "item_id"]
    columns += ["tags"] if tag else []
    known: dict[str, None] = {}
    for _, table in selected.tables(columns):
        for row in table.to_pylist():
            tags = json.loads(row["tags"] or "{}") if tag else {}
            known |= dict.fromkeys(tags)
            value = None if tag is None else tag_of(tags, tag)
            key = None if value is None else key_of_value(value)
            if value is not None and key is not None:
                spellings[key] = min(value, spellings.get(key, value))
            outcome, reason = row["outcome"], row["reason"] or ""
            is_given_up = outcome != "rejected" and row["item_id"] in given_up
            is_alone = reason == Verdict.UNREADABLE and row["sidecar"] is None
            group = AttentionGroup(value=key, outcome=outcome, reason=reason, is_alone=is_alone)
            group = groups.setdefault((key, outcome, reason, is_alone, is_given_up), group)
            group.is_given_up = is_given_up
            group.rows += 1
            if len(group.files) < most_files:
                group.files.append(row["relative_path"] or row["audio"] or "")
                group.lines.append(row["manifest_line"] or "")
    if tag and groups:
        known_tag(tag, known)
    for group in groups.values():
        group.value = None if group.value is None else spellings[group.value]
    return sorted(
        groups.values(),
        key=lambda each: (each.value is None, each.value or "", OUTCOMES.index(each.outcome), -each.rows, each.reason),
    )


def named_files(results: Results, run: RunStatus) -> list[NamedFile]:
    plan, found = run.plan, list[NamedFile]()
    root = "" if plan.catalog_root is None else path_of(plan.catalog_root, "/")
    names = results.parts_of("verdicts", plan) if any(map(run.rows, NEED_ATTENTION)) else []
    for name in names[:_FEW_PARTS]:
        table = results.table("verdicts", [name], ["audio", "relative_path", *_NAMED])
        for row in table.sort_by("manifest_row").to_pylist():
            if row["outcome"] in NEED_ATTENTION:
                is_file = proof_id_of(row["audio"]) is None  # Prefect keeps what is named here: no proof ID
                named = (row["audio"] or row["relative_path"] or "") if is_file else row["item_id"]
                audio = path_within(named, root) if root else named
                found.append(NamedFile(audio, row["outcome"], row["reason"] or ""))
                if len(found) == _MOST_NAMED:
                    return found
    return found
