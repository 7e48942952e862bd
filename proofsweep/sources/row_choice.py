"""Choose rows of a catalog by a condition in SQL, by when their files were modified, or by how they stand.

DuckDB works a condition out over the rows alone: no file, no network, no variable of this process, no other table.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import pyarrow as pa

from proofsweep.config.locations import one_line
from proofsweep.domain.errors import UsageError
from proofsweep.domain.items import ManifestRow, item_id_of, modified_of, utf8_text
from proofsweep.domain.tags import spellings_by_key, tag_of

if TYPE_CHECKING:
    import duckdb

_BATCH_ROWS = 5_000  # rows that are judged at once
_INDEX = " index"  # names a column that nobody else can have: the names of others are stripped
_LOCKED: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "threads": "1",
    "memory_limit": "256MB",
}


class RowChoice:
    def __init__(
        self,
        where: str | None,
        newer_than: datetime | None,
        *,
        catalog_name: str,
        tag_names: Callable[[], list[str]] = list,
    ) -> None:
        """Check an SQL condition on the columns of the manifest and on what is known of the files; None for any row.

        Audio or sidecar must be modified later than `newer_than`, if that is given. UsageError if it is no condition,
        or names a column that is not there; CatalogError if the columns cannot be read.
        """
        self._where, self._newer_than = where, newer_than
        self._known: Mapping[str, _Column] = {}
        if where is None:
            return
        tags = spellings_by_key(tag_names())
        facts = {name: column for name, column in _facts_of(catalog_name).items() if name not in tags}
        self._known = facts | {utf8_text(name): (pa.string(), partial(_tag, name)) for name, *_ in tags.values()}
        with self._locked_database() as database:
            table, condition = self._asked(database, where, [])
            kinds = list(map(str, table.select(condition).types))
            table.filter(condition)
        if kinds != ["BOOLEAN"]:
            raise self._refusal("write a condition that is true or false")

    def judged(self, rows: Iterable[ManifestRow]) -> Iterator[tuple[ManifestRow, bool]]:
        """Yield each row, and whether it is chosen; UsageError if the condition cannot be worked out for one."""
        if self._where is None:
            yield from ((row, self._is_new(row)) for row in rows)
            return
        waiting = iter(rows)
        with self._locked_database() as database:
            while batch := list(islice(waiting, _BATCH_ROWS)):
                table, condition = self._asked(database, self._where, batch)
                met = {index for (index,) in table.filter(condition).project(f'"{_INDEX}"').fetchall()}
                yield from ((row, index in met and self._is_new(row)) for index, row in enumerate(batch))

    @contextmanager
    def _locked_database(self) -> Iterator["duckdb.DuckDBPyConnection"]:
        import duckdb  # noqa: PLC0415 - loaded with the flow it complains at the end

        try:
            with duckdb.connect(config=_LOCKED) as database:
                database.execute("SET python_enable_replacements = false")
                database.execute("SET TimeZone = 'UTC'")
                database.execute("SET lock_configuration = true")
                yield database
        except duckdb.Error as error:
            raise self._refusal(str(error).partition("\n")[0].rstrip("!. ")) from error

    def _asked(
        self, database: "duckdb.DuckDBPyConnection", where: str, rows: list[ManifestRow]
    ) -> tuple["duckdb.DuckDBPyRelation", "duckdb.Expression"]:
        import duckdb  # noqa: PLC0415 - as above

        cells = {name: pa.array(map(value, rows), kind) for name, (kind, value) in self._known.items()}
        table = pa.table(cells | {_INDEX: pa.array(range(len(rows)), pa.int64())})
        return database.from_arrow(table), duckdb.SQLExpression(where)

    def _is_new(self, row: ManifestRow) -> bool:
        modified = modified_of(row)
        return self._newer_than is None or (modified is not None and modified > self._newer_than.timestamp())

    def _refusal(self, because: str) -> UsageError:
        there_are = one_line(", ".join(self._known))
        because = one_line(" ".join(because.split()))
        return UsageError(f"--where {one_line(self._where or '')}: {because}. The columns are: {there_are}.")


_Column = tuple[pa.DataType, Callable[[ManifestRow], object]]


def _facts_of(catalog_name: str) -> dict[str, _Column]:
    """Return the columns that each row has; one of the manifest goes before one of what is known of the file."""
    text = pa.string()
    return {
        "audio": (text, lambda row: row.audio and utf8_text(row.audio)),
        "sidecar": (text, lambda row: row.sidecar and utf8_text(row.sidecar)),
        "id": (text, lambda row: item_id_of(row, catalog_name)),
        "name": (text, lambda row: utf8_text((row.audio or "").rpartition("/")[2])),
        "folder": (text, lambda row: utf8_text(row.named_audio.rpartition("/")[0])),
        "size": (pa.int64(), lambda row: getattr(row.audio_facts, "size_bytes", None)),
        "modified": (pa.timestamp("us", tz="UTC"), _modified),
    }


def _modified(row: ManifestRow) -> int | None:
    modified = modified_of(row)
    return None if modified is None else int(modified * 1_000_000)


def _tag(name: str, row: ManifestRow) -> str | None:
    value = tag_of(row.tags, name)
    return None if value is None else utf8_text(value)
