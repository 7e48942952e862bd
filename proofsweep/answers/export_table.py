"""Export rows into a table of a database: each file has one row, which later exports bring up to date."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from proofsweep.answers.databases import Cell, Database, DatabaseUrl, TableName
from proofsweep.answers.export import report_row_of
from proofsweep.answers.report_formats import CompletionReport, GroupedRows
from proofsweep.answers.views.screening import NO_SCREENING, REPORTED, screened
from proofsweep.answers.views.selected_rows import SelectedRows
from proofsweep.errors import ResultsError
from proofsweep.model.completion_report import CELLS, RUN_COLUMN, SCREENING_PREFIX, own_header
from proofsweep.model.items import printable
from proofsweep.model.tables.columns import FLAG, TEXT
from proofsweep.model.tables.verdicts import COLUMNS

_KEY = ("environment", "item_id")
_RENAMED = {"id": "item_id", RUN_COLUMN: "run_id"}  # as in `verdicts`
_KINDS = {column.name: column.kind for column in COLUMNS}
# chosen: rows that go to the database at once, some 10 MB.
_ROWS_AT_ONCE = 10_000
# PostgreSQL cuts longer names.
_MOST_NAME_BYTES = 63


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of the table, and its kind as in our own tables."""

    name: str
    kind: str


def export_to_table(
    selected: SelectedRows, database: DatabaseUrl, table: TableName, screening: Mapping[str, str] = NO_SCREENING
) -> int:
    """Insert the rows, or update those that the table has already, all or none; give how many rows they are.

    The table is made if it is missing, and columns are added that are missing; nothing is ever removed. Without a row,
    nothing is done.

    Raises:
        ConfigError: the database's driver is not installed.
        ResultsError: the store cannot be read, or the database refuses something.
    """
    with TemporaryDirectory(prefix="proofsweep-") as folder:
        spooled = GroupedRows(Path(folder))
        for _, row, cells in screened(selected.rows([*CELLS, "tags", *REPORTED]), screening):
            spooled.add("", report_row_of(row, cells))
        if not spooled.counts:
            return 0
        report = CompletionReport([*spooled.tag_names[""]], own_header(screening), spooled.rows(""))
        columns = columns_of_report(report)
        lines = ([selected.environment, *map(_plain, report.cells(row))] for row in report.rows)
        with database.opened() as transaction:
            _write(transaction, table, columns, lines)
        return spooled.counts[""]


def columns_of_report(report: CompletionReport) -> list[TableColumn]:
    """Return a column for the environment and for each column of a report; no two have the same name in any case."""
    own = [_RENAMED.get(name, name) for name in report.own]
    taken = {name.lower() for name in (*_KEY, *own)}
    tags = []
    for tag in report.tags:
        name = _free_name(tag, taken)
        taken.add(name.lower())
        tags.append(TableColumn(name, TEXT))
    first, *others = (TableColumn(name, _kind_of(name)) for name in own)
    return [TableColumn("environment", TEXT), first, *tags, *others]


def _free_name(tag: str, taken: set[str]) -> str:
    """Name the column of a tag: the same in each export, if the tags and our own columns are the same."""
    name = _plain_text(tag) or "tag"
    if len(name.encode()) > _MOST_NAME_BYTES:
        digest = hashlib.sha256(name.encode()).hexdigest()[:8]
        name = f"{name.encode()[: _MOST_NAME_BYTES - 9].decode(errors='ignore')}_{digest}"
    while name.lower() in taken:
        name = f"tag_{name}"
    return name


def _kind_of(name: str) -> str:
    return FLAG if name.startswith(SCREENING_PREFIX) else _KINDS.get(name, TEXT)


def _write(
    database: Database, table: TableName, columns: Sequence[TableColumn], lines: Iterator[Sequence[Cell]]
) -> None:
    known = {name.lower(): name for name in database.columns_of(table)}
    if not known:
        keys = ", ".join(f"{_quoted(name)} {database.types[TEXT]} NOT NULL" for name in _KEY)
        database.execute(f"CREATE TABLE {table.sql} ({keys}, PRIMARY KEY ({', '.join(map(_quoted, _KEY))}))")
        known = {name: name for name in _KEY}
    if not known.keys() >= {*_KEY}:
        raise ResultsError(f"The table {table.text} exists and is not of an export: name another one with --table.")
    for column in columns:
        if column.name.lower() not in known:
            added = f"{_quoted(column.name)} {database.types[column.kind]}"
            database.execute(f"ALTER TABLE {table.sql} ADD COLUMN {added}")
    names = [known.get(column.name.lower(), column.name) for column in columns]
    key = [[column.name for column in columns].index(name) for name in _KEY]
    statement = _upsert(table, names, key, database.source(len(names)))
    while batch := list(islice(lines, _ROWS_AT_ONCE)):
        newest = {tuple(line[place] for place in key): line for line in batch}  # one statement updates a row once
        database.insert(statement, list(newest.values()))


def _upsert(table: TableName, names: Sequence[str], key: Sequence[int], source: str) -> str:
    quoted = [_quoted(name) for name in names]
    updated = ", ".join(f"{name} = excluded.{name}" for place, name in enumerate(quoted) if place not in key)
    keys = ", ".join(quoted[place] for place in key)
    return f"INSERT INTO {table.sql} ({', '.join(quoted)}) {source} ON CONFLICT ({keys}) DO UPDATE SET {updated}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _plain(cell: object) -> Cell:
    """Return what every database takes: valid UTF-8 without zero bytes, a number, a flag or nothing."""
    return cell if cell is None or isinstance(cell, int) else _plain_text(str(cell))


def _plain_text(text: str) -> str:
    return printable(text).replace("\0", r"\x00")
