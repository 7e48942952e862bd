"""Conditions that people write in SQL, each on one row: checked, and worked out over rows with nothing else in reach.

DuckDB parses a condition, and what it may consist of is listed here: nothing that reads a file, another row, the
network or this process, and nothing that takes much more time or memory than its row.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pyarrow as pa

if TYPE_CHECKING:
    import duckdb

T = TypeVar("T")
Refuse = Callable[[str], Exception]
"""Makes the error that says why a text is no condition."""

# Rows that are judged at once. Chosen; not critical.
_BATCH_ROWS = 5_000
# Parts of a condition within one another. Chosen: far more than people write, and well below Python's own limit, which
# ends the reading of the JSON.
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
    ~~ !~~ ~~* !~~* ~~~ ^@ || + - * / // % ** ^ like_escape not_like_escape ilike_escape not_ilike_escape
    regexp_matches regexp_full_match regexp_extract lower upper trim ltrim rtrim length strlen starts_with ends_with
    prefix suffix contains substring substr left right split_part position strpos instr concat strip_accents nullif if
    abs sign round floor ceil trunc sqrt pow power exp ln log log2 log10 isnan isfinite greatest least now today
    date_part date_trunc date_diff datediff year month day hour dayofweek isodow week timezone to_years to_months
    to_weeks to_days to_hours to_minutes to_seconds strftime strptime
    """.split()  # noqa: SIM905 - as a list it fills a screen
)
"""Functions that read nothing but their arguments, in a time that grows with these only."""
_BYTES = {"blob", "bytea", "binary", "varbinary", "bit", "bitstring"}
"""Types whose texts are longer than what they are made of."""
_CLOCKS = {"current_date", "current_timestamp"}
"""Words that DuckDB gives as columns."""
_NO_CONDITION = "write one condition on one row, without a query of its own"
_INDEX: Final = " index"
"""Names a column that nobody else can have: the names of others are stripped."""


def columns_of_condition(condition: str, columns: Mapping[str, pa.DataType], refuse: Refuse) -> list[str]:
    """Return the columns that a condition names, as they are spelled in `columns`.

    Raises what `refuse` makes of the reason if it is no condition on one row of these columns.
    """
    import duckdb  # noqa: PLC0415 - loaded with the flow it complains at the end

    with _connection() as database:
        try:
            named = _named_columns(_parts_of_condition(database, condition, refuse), columns, refuse)
            kinds_of_named = {name: columns[name] for name in named} | {_INDEX: pa.int64()}
            database.register("rows", pa.schema(kinds_of_named).empty_table())
            kinds = [kind for _, kind, *_ in database.execute(f"DESCRIBE {_query([condition])}").fetchall()]
        except duckdb.Error as error:
            raise refuse(_reason_of(error)) from error
    if kinds != ["BOOLEAN"]:
        raise refuse("write a condition that is true or false")
    return named


def judged(
    rows: Iterable[T],
    conditions: Sequence[str],
    cells_of: Callable[[list[T]], "dict[str, pa.Array[Any]]"],
    refuse: Refuse,
) -> Iterator[tuple[T, tuple[bool | None, ...]]]:
    """Yield each row with what the conditions say of it, batch by batch; None is unknown.

    The conditions were checked, and `cells_of` returns the columns that they name. Raises what `refuse` makes of the
    reason if one cannot be worked out for a row.
    """
    if not conditions:
        yield from ((row, ()) for row in rows)
        return
    import duckdb  # noqa: PLC0415 - as above

    waiting = iter(rows)
    query = f'{_query(conditions)} ORDER BY "{_INDEX}"'
    with _connection() as database:
        while batch := list(islice(waiting, _BATCH_ROWS)):
            indexes = pa.array(range(len(batch)), pa.int64())
            database.register("rows", pa.table(cells_of(batch) | {_INDEX: indexes}))
            try:
                answers = database.execute(query).fetchall()
            except duckdb.Error as error:
                raise refuse(_reason_of(error)) from error
            yield from zip(batch, answers, strict=True)


def _connection() -> "duckdb.DuckDBPyConnection":
    """Open a database that reads neither files nor the network, and no variable of this process."""
    import duckdb  # noqa: PLC0415 - as above

    database = duckdb.connect(config=_SAFE)
    database.execute("SET python_enable_replacements = false")
    database.execute("SET TimeZone = 'UTC'")
    database.execute(f"SET max_expression_depth = {_DEEPEST}")
    database.execute("SET lock_configuration = true")
    return database


def _query(conditions: Iterable[str]) -> str:
    chosen = ", ".join(f"({condition}\n)" for condition in conditions)
    return f"SELECT {chosen} FROM rows"  # noqa: S608 - each is checked to be one condition


def _reason_of(error: Exception) -> str:
    return str(error).partition("\nLINE ")[0]


def _parts_of_condition(database: "duckdb.DuckDBPyConnection", condition: str, refuse: Refuse) -> list[dict[str, Any]]:
    query = _query([condition])
    if not condition.strip() or len(database.extract_statements(query)) != 1:
        raise refuse(_NO_CONDITION)
    [(text,)] = database.execute("SELECT json_serialize_sql($query)", {"query": query}).fetchall()
    parsed = json.loads(text)
    if parsed["error"]:
        raise refuse(str(parsed["error_message"]))
    [statement] = parsed["statements"]
    node = statement["node"]
    shape = {key: value for key, value in node.items() if value and key != "select_list"}
    is_plain = shape.keys() <= {"type", "cte_map", "from_table", "aggregate_handling"} and node["type"] == "SELECT_NODE"
    if not is_plain or node["cte_map"]["map"] or len(node["select_list"]) != 1:
        raise refuse(_NO_CONDITION)
    parts = list(_parts_of(node["select_list"]))
    for what in filter(None, map(_not_allowed, parts)):
        raise refuse(f"{what} is not allowed in it")
    return parts


def _parts_of(parsed: object) -> Iterator[dict[str, Any]]:
    """Yield the parts of an expression that have a class."""
    waiting = [parsed]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict) and isinstance(part.get("class"), str):
            yield part
        waiting += part.values() if isinstance(part, dict) else part if isinstance(part, list) else []


def _not_allowed(part: Mapping[str, Any]) -> str | None:
    """Name what a condition must not contain; None of a part that it may."""
    if part["class"] == "FUNCTION":
        function = str(part["function_name"])
        return None if function in _FUNCTIONS else f"the function {function}"
    if part["class"] == "CAST":
        kind = str(part.get("type_expr", {}).get("type_name") or part.get("cast_type", {}).get("id")).lower()
        return f"the type {kind}" if kind in _BYTES else None
    return None if part["class"] in _PARTS else "a query of its own, a list or a parameter"


def _named_columns(parts: Iterable[Mapping[str, Any]], columns: Iterable[str], refuse: Refuse) -> list[str]:
    """Return the columns that the parts of a condition name, in any case."""
    known = list(columns)
    by_lower_case = {name.lower(): name for name in reversed(known)}
    found: dict[str, None] = {}
    for named in (".".join(part["column_names"]) for part in parts if part["class"] == "COLUMN_REF"):
        name = named if named in known else by_lower_case.get(named.lower())
        if name is not None:
            found[name] = None
        elif named.lower() not in _CLOCKS:
            raise refuse(f"no column is named {named}")
    if len({name.lower() for name in found}) < len(found):
        raise refuse("it names two columns that differ in case only")
    return list(found)
