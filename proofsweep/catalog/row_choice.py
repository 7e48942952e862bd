"""Choose rows of a catalog by a person's SQL condition, and by the age of their files."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from proofsweep.errors import UsageError
from proofsweep.files.locations import one_line
from proofsweep.model.items import ManifestRow, item_id_of, modified_of, printable

if TYPE_CHECKING:
    import duckdb

# Rows that are judged at once. Chosen: half asks DuckDB twice as often; twice needs twice the memory.
_BATCH_ROWS = 5_000
# Characters of a condition in a message. Chosen: three lines of a screen; half cuts usual ones, twice hides the rest.
_SHOWN = 240
# Parts of a condition within one another. Chosen: half is still deeper than a person writes; at twice, Python's limit
# for the JSON of it is near.
_DEEPEST = 150
_SAFE: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "threads": "1",
    "memory_limit": "256MB",  # chosen: a batch takes a few MB; the allowed functions do not multiply it
}
_PARTS = frozenset(
    {"BETWEEN", "CASE", "CAST", "COLLATE", "COLUMN_REF", "COMPARISON", "CONJUNCTION", "CONSTANT", "FUNCTION"}
    | {"OPERATOR", "TYPE"}
)
"""What a condition may consist of: what looks at one row."""
_FUNCTIONS = frozenset(
    """
    ~~ !~~ ~~* !~~* ~~~ ^@ || + - * / // % like_escape not_like_escape ilike_escape not_ilike_escape regexp_matches
    regexp_full_match regexp_extract lower upper trim ltrim rtrim length strlen starts_with ends_with prefix suffix
    contains substring substr left right split_part position strpos instr concat strip_accents nullif if abs round
    floor ceil trunc greatest least now today date_part date_trunc date_diff datediff year month day hour dayofweek
    isodow week timezone to_years to_months to_weeks to_days to_hours to_minutes to_seconds strftime strptime
    """.split()  # noqa: SIM905 - as a list it fills a screen
)
"""Functions that read nothing but their arguments, in a time that grows with these only."""
_BYTES = {"blob", "bytea", "binary", "varbinary", "bit", "bitstring"}
"""Types whose texts are longer than what they are made of."""
_CLOCKS = {"current_date", "current_timestamp"}
"""Words that DuckDB gives as columns."""

_Column = tuple[pa.DataType, Callable[[ManifestRow], object]]
_PLACE: Final = " place"
"""Names a column that no manifest can have: its names are stripped."""


class RowChoice:
    """Says of each row of a catalog whether it is chosen."""

    def __init__(
        self,
        where: str | None,
        newer_than: datetime | None,
        *,
        catalog_name: str,
        tag_names: Callable[[], list[str]] = list,
    ) -> None:
        """Check the condition.

        Args:
            where: an SQL condition on the columns of the manifest and on what is known of the files; None for any row.
            newer_than: when the audio or the sidecar was modified last, at the earliest; None for any time.
            catalog_name: a part of the IDs of items.
            tag_names: names the tags that rows may have.

        Raises:
            UsageError: it is no condition, or names a column that is not there.
            CatalogError: the columns cannot be read.
        """
        self._where, self._newer_than = where, newer_than
        self._columns: Mapping[str, _Column] = {}
        if where is not None:
            self._known = _facts_of(catalog_name) | _tags(tag_names())
            with _connection() as database:
                self._columns = _named_columns(_parts_of_condition(database, where, self._known), where, self._known)
                self._refuse_no_condition(database, where)

    def judged(self, rows: Iterable[ManifestRow]) -> Iterator[tuple[ManifestRow, bool]]:
        """Yield each row, and whether it is chosen; UsageError if the condition cannot be worked out for one."""
        if self._where is None:
            yield from ((row, self._is_new(row)) for row in rows)
            return
        waiting = iter(rows)
        with _connection() as database:
            while batch := list(islice(waiting, _BATCH_ROWS)):
                database.register("rows", _table_of(batch, self._columns))
                answers = self._answered(database, f'{_query(self._where)} ORDER BY "{_PLACE}"')
                for row, (is_met,) in zip(batch, answers, strict=True):
                    yield row, bool(is_met) and self._is_new(row)

    def _refuse_no_condition(self, database: "duckdb.DuckDBPyConnection", where: str) -> None:
        database.register("rows", _table_of([], self._columns))
        kinds = [kind for _, kind, *_ in self._answered(database, f"DESCRIBE {_query(where)}")]
        if kinds != ["BOOLEAN"]:
            raise _refusal(where, "write a condition that is true or false", self._known)

    def _answered(self, database: "duckdb.DuckDBPyConnection", query: str) -> list[tuple[object, ...]]:
        import duckdb  # noqa: PLC0415 - loaded with the flow it complains at the end

        try:
            return database.execute(query).fetchall()
        except duckdb.Error as error:
            raise _refusal(self._where or "", str(error).partition("\nLINE ")[0], self._known) from error

    def _is_new(self, row: ManifestRow) -> bool:
        """Whether a file was modified late enough; one of which that is not known was not."""
        modified = modified_of(row)
        return self._newer_than is None or (modified is not None and modified > self._newer_than.timestamp())


def _connection() -> "duckdb.DuckDBPyConnection":
    """Open a database that reads neither files nor the network, and no variable of this process."""
    import duckdb  # noqa: PLC0415 - loaded with the flow it complains at the end

    database = duckdb.connect(config=_SAFE)
    database.execute("SET python_enable_replacements = false")
    database.execute("SET TimeZone = 'UTC'")
    database.execute(f"SET max_expression_depth = {_DEEPEST}")
    database.execute("SET lock_configuration = true")
    return database


def _query(where: str) -> str:
    return f"SELECT ({where}\n) FROM rows"  # noqa: S608 - it was checked to be one condition


def _tags(names: Iterable[str]) -> dict[str, _Column]:
    return {printable(name): (pa.string(), partial(_tag, name)) for name in names}


def _named_columns(
    parts: Iterable[Mapping[str, Any]], where: str, columns: Mapping[str, _Column]
) -> dict[str, _Column]:
    """Return the columns that the parts of a condition name, in any case."""
    by_lower_case = {name.lower(): name for name in reversed([*columns])}
    found: dict[str, _Column] = {}
    for named in (".".join(part["column_names"]) for part in parts if part["class"] == "COLUMN_REF"):
        name = named if named in columns else by_lower_case.get(named.lower())
        if name is not None:
            found[name] = columns[name]
        elif named.lower() not in _CLOCKS:
            raise _refusal(where, f"no column is named {one_line(named)}", columns)
    if len({name.lower() for name in found}) < len(found):
        raise _refusal(where, "it names two columns that differ in case only", columns)
    return found


def _parts_of_condition(
    database: "duckdb.DuckDBPyConnection", where: str, columns: Iterable[str]
) -> list[dict[str, Any]]:
    """Return the parts of a condition; UsageError if it is more than a condition on one row."""
    [(text,)] = database.execute("SELECT json_serialize_sql($query)", {"query": _query(where)}).fetchall()
    parsed = json.loads(text)
    if parsed["error"]:
        raise _refusal(where, str(parsed["error_message"]), columns)
    [statement, *more] = parsed["statements"]
    node = statement["node"]
    shape = {key: value for key, value in node.items() if value and key != "select_list"}
    is_plain = shape.keys() <= {"type", "cte_map", "from_table", "aggregate_handling"} and node["type"] == "SELECT_NODE"
    if more or not where.strip() or not is_plain or node["cte_map"]["map"] or len(node["select_list"]) != 1:
        raise _refusal(where, "write one condition", columns)
    parts = list(_parts_of(node["select_list"]))
    for what in filter(None, map(_not_allowed, parts)):
        raise _refusal(where, f"{what} is not allowed in it", columns)
    return parts


def _not_allowed(part: Mapping[str, Any]) -> str | None:
    """Name what a condition must not contain; None of a part that it may."""
    if part["class"] == "FUNCTION":
        function = str(part["function_name"])
        return None if function in _FUNCTIONS else f"the function {one_line(function)}"
    if part["class"] == "CAST":
        kind = str(part.get("type_expr", {}).get("type_name") or part.get("cast_type", {}).get("id")).lower()
        return f"the type {one_line(kind)}" if kind in _BYTES else None
    return None if part["class"] in _PARTS else "a query, a list or a parameter"


def _parts_of(parsed: object) -> Iterator[dict[str, Any]]:
    """Yield the parts of an expression that have a class."""
    waiting = [parsed]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict) and isinstance(part.get("class"), str):
            yield part
        waiting += part.values() if isinstance(part, dict) else part if isinstance(part, list) else []


def _refusal(where: str, because: str, columns: Iterable[str]) -> UsageError:
    there_are = one_line(", ".join(columns))
    return UsageError(
        f"--where {one_line(where)}: {one_line(' '.join(because.split()))}. The columns are: {there_are}."
    )


def _table_of(rows: list[ManifestRow], columns: Mapping[str, _Column]) -> pa.Table:
    cells: dict[str, Any] = {name: pa.array(map(value, rows), kind) for name, (kind, value) in columns.items()}
    cells[_PLACE] = pa.array(range(len(rows)), pa.int64())
    return pa.table(cells)


def _facts_of(catalog_name: str) -> dict[str, _Column]:
    """Return the columns that each row has; one of the manifest goes before one of what is known of the file."""
    text = pa.string()
    return {
        "audio": (text, lambda row: row.audio and printable(row.audio)),
        "sidecar": (text, lambda row: row.sidecar and printable(row.sidecar)),
        "id": (text, lambda row: item_id_of(row, catalog_name)),
        "name": (text, lambda row: printable((row.audio or "").rpartition("/")[2])),
        "folder": (text, lambda row: printable(row.named_audio.rpartition("/")[0])),
        "size": (pa.int64(), lambda row: getattr(row.audio_facts, "size_bytes", None)),
        "modified": (pa.timestamp("us", tz="UTC"), _modified),
    }


def _modified(row: ManifestRow) -> int | None:
    modified = modified_of(row)
    return None if modified is None else int(modified * 1_000_000)


def _tag(name: str, row: ManifestRow) -> str | None:
    value = row.tags.get(name)
    return None if value is None else printable(value)
