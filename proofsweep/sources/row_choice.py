"""Choose rows of a catalog by a condition in SQL, by when their files were modified, or by how they stand.

DuckDB works a condition out over the rows alone: no file, no network, no variable of this process, no other table.
A tag has a value of the condition however the value is spelled, as where files are grouped by a tag.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import pyarrow as pa

from proofsweep.config.locations import one_line
from proofsweep.config.notices import say
from proofsweep.domain.errors import UsageError
from proofsweep.domain.items import FileFacts, ManifestRow, item_id_of, modified_of, utf8_text
from proofsweep.domain.tags import key_of_value, spellings_by_key, tag_of
from proofsweep.domain.text import counted

if TYPE_CHECKING:
    import duckdb

_BATCH_ROWS = 5_000  # rows that are judged at once
_MOST_SPELLINGS = 5  # are named
_NAME_OR_TEXT = re.compile(r"""("(?:[^"]|"")*")|'((?:[^']|'')*)'""")  # of SQL: a quoted name, or a text
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
        self._where = where
        self._newer_than = None if newer_than is None else newer_than.timestamp()
        self._condition = ""  # the same in which each value has one spelling
        self._known: dict[str, _Column] = {}
        self._values: dict[str, str] = {}  # of the condition, by what their spellings have in common
        self._respelled: Counter[tuple[str, str, str]] = Counter()  # rows by tag, spelling and value of the condition
        self._are_spellings_said = False
        if where is None:
            return
        # DuckDB compares letter by letter. So a value of a row is given to it as the condition spells it, if both are
        # one name; that holds for =, <>, IN and functions alike, and nothing of the condition has to be understood.
        self._condition = _NAME_OR_TEXT.sub(self._record_value, where)
        tags = spellings_by_key(tag_names())
        for name, column in _facts_of(catalog_name).items():
            if name not in tags:
                self._known[name] = column
        named = where.casefold().replace('""', '"')
        for key, (name, *_) in tags.items():
            value = self._tag if self._values and key in named else _plain_tag
            self._known[utf8_text(name)] = (pa.string(), partial(value, name))
        with self._locked_database() as database:
            table, condition = self._relation(database, [])
            kinds = list(map(str, table.select(condition).types))
            table.filter(condition)
        if kinds != ["BOOLEAN"]:
            raise self._refusal("write a condition that is true or false")

    def judged(self, rows: Iterable[ManifestRow]) -> Iterator[tuple[ManifestRow, bool]]:
        """Yield each row, and whether it is chosen; UsageError if the condition cannot be worked out for one."""
        if self._where is None:
            for row in rows:
                yield row, self._is_new(row)
            return
        waiting = iter(rows)
        self._respelled.clear()
        with self._locked_database() as database:
            while batch := list(islice(waiting, _BATCH_ROWS)):
                table, condition = self._relation(database, batch)
                met = table.filter(condition).project(f'"{_INDEX}"').fetchall()
                chosen = {index for (index,) in met}
                for index, row in enumerate(batch):
                    yield row, index in chosen and self._is_new(row)
        self._say_spellings()

    def _record_value(self, token: re.Match[str]) -> str:
        # A quoted name is no value. Of a value that the condition spells in two ways, the first spelling counts.
        if token[1] is not None:
            return token[0]
        text = token[2].replace("''", "'")
        value = self._values.setdefault(key_of_value(text), text)
        quoted = value.replace("'", "''")
        return f"'{quoted}'"

    def _tag(self, name: str, row: ManifestRow) -> str | None:
        """Return a row's value of a tag, in the spelling of the condition if this has the same value."""
        spelling = _plain_tag(name, row)
        if spelling is None:
            return None
        value = self._values.get(key_of_value(spelling), spelling)
        if value != spelling:
            self._respelled[name, spelling, value] += 1
        return value

    def _say_spellings(self) -> None:
        """Say once which other spellings were taken for a value of the condition."""
        if self._are_spellings_said or not self._respelled:
            return
        self._are_spellings_said = True
        words = list[str]()
        for (name, spelling, value), rows in self._respelled.most_common(_MOST_SPELLINGS):
            words.append(f"{name} {one_line(spelling)!r} counts as {one_line(value)!r} ({counted(rows, 'row')})")
        more = len(self._respelled) - _MOST_SPELLINGS
        if more > 0:
            words.append(f"and {more} more spellings")
        listed = ", ".join(words)
        say(f"--where compares names however they are spelled: {listed}.")

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
            first_line, _, _ = str(error).partition("\n")
            raise self._refusal(first_line.rstrip("!. ")) from error

    def _relation(
        self, database: "duckdb.DuckDBPyConnection", rows: list[ManifestRow]
    ) -> tuple["duckdb.DuckDBPyRelation", "duckdb.Expression"]:
        """Return rows as a table of DuckDB, and the condition on it."""
        import duckdb  # noqa: PLC0415 - as above

        columns: dict[str, pa.Array[pa.Scalar[pa.DataType]]] = {}
        for name, (kind, value) in self._known.items():
            columns[name] = pa.array(map(value, rows), kind)
        columns[_INDEX] = pa.array(range(len(rows)), pa.int64())
        table = database.from_arrow(pa.table(columns))
        return table, duckdb.SQLExpression(self._condition)

    def _is_new(self, row: ManifestRow) -> bool:
        if self._newer_than is None:
            return True
        modified = modified_of(row)
        return modified is not None and modified > self._newer_than

    def _refusal(self, because: str) -> UsageError:
        there_are = one_line(", ".join(self._known))
        why = one_line(" ".join(because.split()))
        return UsageError(f"--where {one_line(self._where or '')}: {why}. The columns are: {there_are}.")


_Column = tuple[pa.DataType, Callable[[ManifestRow], object]]


def _facts_of(catalog_name: str) -> dict[str, _Column]:
    """Return the columns that each row has; one of the manifest goes before one of what is known of the file."""
    text, instant = pa.string(), pa.timestamp("us", tz="UTC")
    return {
        "audio": (text, _audio),
        "sidecar": (text, _sidecar),
        "id": (text, partial(item_id_of, catalog_name=catalog_name)),
        "name": (text, _name),
        "folder": (text, _folder),
        "size": (pa.int64(), _size_bytes),
        "modified": (instant, _modified_microseconds),
    }


def _audio(row: ManifestRow) -> str | None:
    return row.audio and utf8_text(row.audio)


def _sidecar(row: ManifestRow) -> str | None:
    return row.sidecar and utf8_text(row.sidecar)


def _name(row: ManifestRow) -> str:
    name = (row.audio or "").rpartition("/")[2]
    return utf8_text(name)


def _folder(row: ManifestRow) -> str:
    folder = row.named_audio.rpartition("/")[0]
    return utf8_text(folder)


def _size_bytes(row: ManifestRow) -> int | None:
    return row.audio_facts.size_bytes if isinstance(row.audio_facts, FileFacts) else None


def _modified_microseconds(row: ManifestRow) -> int | None:
    modified = modified_of(row)
    return None if modified is None else int(modified * 1_000_000)


def _plain_tag(name: str, row: ManifestRow) -> str | None:
    value = tag_of(row.tags, name)
    return None if value is None else utf8_text(value)
