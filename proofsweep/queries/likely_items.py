# ruff: noqa: S608 - the SQL is made of our own conditions; what a person gave is a parameter
"""Find the items that a person may mean, by what people know of a file: its name, its title, its ISRC.

Only the newest rows and the newest listings are read: a store may hold a row of each night for each of a million files.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from proofsweep.store.tables.columns import Row

MOST_LISTED = 20

_CODE = "replace(replace(strip_accents(lower({})), '-', ''), ' ', '')"
_TEXT = "strip_accents(lower({}))"
_NAME = "split_part(audio, '/', -1)"


def _in_a_tag(form: str, fits: str) -> str:
    """Compare each value of the tags; their whole text first, which is far quicker than to take it apart."""
    wanted, value = form.format("$wanted"), form.format("value")
    is_likely = f"contains({form.format('tags')}, {form.format('$as_json')}) AND {wanted} <> ''"
    values = "json_extract_string(tags, '$.*')"
    return f"{is_likely} AND len(list_filter({values}, lambda value: {fits.format(value, wanted)})) > 0"


_EXACT = "audio = $location OR $wanted IN (item_id, verify_request_id)"
_CONDITIONS = (
    _EXACT,
    "ends_with(audio, '/' || $wanted)",
    _in_a_tag(_CODE, "{} = {}"),
    f"contains({_TEXT.format(_NAME)}, {_TEXT.format('$wanted')})",
    _in_a_tag(_TEXT, "contains({}, {})"),
)
"""What fits better comes first: an exact name, an end of a location, a tag's value, a part of a name or of a value."""

_FIRST = f"""
    SELECT *, count(*) OVER () AS items
    FROM (
        SELECT item_id, coalesce(relative_path, audio) AS file, outcome, verdict, reason, tags, run_id
        FROM (
            SELECT
                item_id, relative_path, audio, outcome, verdict, reason, tags, run_id, verify_request_id, epoch,
                finished_at
            FROM store.newest
            UNION ALL BY NAME
            SELECT
                item_id, relative_path, coalesce(try(decode(audio)), audio::VARCHAR) AS audio, 'not sent' AS outcome,
                reason, tags, run_id, -1 AS epoch
            FROM store.listing
        )
        WHERE run_id >= $oldest AND ({{condition}})
        QUALIFY row_number() OVER (PARTITION BY item_id ORDER BY epoch DESC, finished_at DESC) = 1
    )
    ORDER BY file, item_id
    LIMIT {MOST_LISTED}
"""


@dataclass(frozen=True, slots=True)
class LikelyItems:
    """The items that fit what a person gave, best of all that the store has; several fit equally well."""

    items: int = 0
    rows: Sequence[
        Row
    ] = ()  # the first ones by their files, with item_id, file, outcome, verdict, reason, tags and run_id

    @property
    def only(self) -> str | None:
        return str(self.rows[0]["item_id"]) if self.items == 1 else None


def likely_items(connection: duckdb.DuckDBPyConnection, wanted: str, location: str, oldest: str = "") -> LikelyItems:
    """Search all environments for answered and for listed items; `location` is what was given, read as a location.

    Codes and titles are compared without case, accents, spaces and hyphens. Of several items with the very location,
    as two catalogs may have, the newest is meant. `oldest` leaves out runs whose IDs sort before it.
    """
    as_json = json.dumps(wanted, ensure_ascii=False)[1:-1]
    known = {"wanted": wanted, "location": location, "oldest": oldest, "as_json": as_json}
    for condition in _CONDITIONS if wanted.strip() else ():
        used = {name: value for name, value in known.items() if f"${name}" in condition or name == "oldest"}
        found = connection.sql(_FIRST.format(condition=condition), params=used).to_arrow_table().to_pylist()
        if found and condition is _EXACT:
            return LikelyItems(1, [max(found, key=lambda row: str(row["run_id"]))])
        if found:
            return LikelyItems(found[0]["items"], found)
    return LikelyItems()
