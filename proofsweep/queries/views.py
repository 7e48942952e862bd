"""The views that people query, as SQL over the tables of a results store; most are a file of their own in `sql`."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from itertools import takewhile

from proofsweep.domain.tags import BLANKS, LOWER_FORMS, UNSEEN_MARKS, spellings_by_key
from proofsweep.store.sql import quoted, quoted_name
from proofsweep.store.tables import TABLES

_TAGS = "/* tag columns */"
_OF_TABLE = "SELECT * FROM store.{0} WHERE list_contains(getvariable('environments'), environment)"
_NO_NAMES = re.compile(r"--.*|/\*.*?\*/|'[^']*'")  # comments and texts

_COLUMNS = frozenset(column.name for column in TABLES["verdicts"].columns) | {"run_date"}

NAMES = (
    *(*TABLES, "inventory", "catalog", "latest_answer", "changes", "rejects", "coverage", "run_totals"),
    "file_exchanges",
)
"""The views, each after those that it reads; a table has a view of its name."""


@dataclass(frozen=True, slots=True)
class View:
    name: str
    meaning: str
    query: str
    words: frozenset[str]  # of its query before tags came in: a tag's name says nothing of what a view reads


def views(tags: Iterable[str] = ()) -> list[View]:
    """Return all views; those of rows have each of these tags as a column.

    A tag whose name is a column of `verdicts` or a word of the views' own queries is `tag_<name>`, in each of them. Of
    spellings that differ in case alone the first one names the column.
    """
    without_tags = list(map(_view, NAMES))
    # A column of another name makes no name in a query ambiguous, and no name means two things in two views.
    taken = set(_COLUMNS)
    for view in without_tags:
        taken |= view.words
    columns = ""
    for name, value in _tag_columns(tags, taken):
        columns += f", {value} AS {quoted_name(name)}"
    with_tags: list[View] = []
    for view in without_tags:
        query = view.query.replace(_TAGS, columns)
        with_tags.append(replace(view, query=query))
    return with_tags


def _tag_columns(tags: Iterable[str], taken: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the column of each tag, and the expression for its value."""
    # Two columns of one name would mean something else in each view; one without a name would break them all.
    used = {"", *taken}
    for _, spellings in sorted(spellings_by_key(tags).items()):
        name = spellings[0].replace("\0", "\N{SYMBOL FOR NULL}")  # Arrow ends a name at a NUL
        while name.lower() in used:
            name = f"tag_{name}"
        used.add(name.lower())
        yield name, value_of_tag(spellings)


def _view(name: str) -> View:
    """Read a view; the comment at the top of its file is its meaning. That of a table needs no file."""
    file = files(__package__).joinpath("sql", f"{name}.sql")
    text = _OF_TABLE.format(name)
    if file.is_file():
        text = file.read_text(encoding="utf-8")
    lines = text.splitlines()
    comment = [line.removeprefix("-- ") for line in takewhile(_is_comment, lines)]
    meaning = " ".join(comment)
    if name in TABLES:
        meaning = TABLES[name].meaning
    query = "\n".join(lines[len(comment) :])
    without_texts = _NO_NAMES.sub("", query)
    return View(name, meaning, query, words_of(without_texts))


def _is_comment(line: str) -> bool:
    return line.startswith("-- ")


def words_of(sql: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", sql.lower()))


def read_by(asked: str, known: Sequence[View]) -> list[View]:
    """Return views that SQL names, and those that they read, in their order: each takes as long to make as a query."""
    read: list[View] = []
    words = words_of(asked)
    # A view stands after those that it reads, so one look from the end finds them all.
    for view in reversed(known):
        if view.name in words:
            read.append(view)
            words |= view.words
    read.reverse()
    return read


def with_views(*names: str) -> str:
    """Return the clause that gives a query views and those that they read; to create them takes as long as the query.

    `getvariable('environments')` says which environments they show.
    """
    read = read_by(" ".join(names), views())
    clauses = ", ".join(f"{view.name} AS NOT MATERIALIZED (\n{view.query}\n)" for view in read)
    return f"WITH {clauses}"


def value_of_tag(spellings: Iterable[str]) -> str:
    """Return the expression for the value of a tag of a row, whose name has one of these spellings."""
    values: list[str] = []
    for spelling in spellings:
        # RFC 6901: in a JSON pointer a tilde and a slash of a name are written so.
        name = spelling.replace("~", "~0").replace("/", "~1")
        pointer = quoted(f"/{name}")
        values.append(f"json_extract_string(tags, {pointer})")
    if len(values) == 1:
        return values[0]
    listed = ", ".join(values)
    return f"coalesce({listed})"


def key_of(value: str) -> str:
    """Return the expression for what the spellings of one supplier have in common, as `key_of_value` does."""
    seen = f"regexp_replace({value}, {quoted(UNSEEN_MARKS)}, '', 'g')"
    words = f"trim(regexp_replace({seen}, {quoted(BLANKS)}, ' ', 'g'))"
    key = f"lower(nfc_normalize({words}))"
    # DuckDB and Python write another small form of these letters: a key made by one would not be found by the other.
    for letter, plain in LOWER_FORMS.items():
        own, other = quoted(letter), quoted(plain)
        key = f"replace({key}, {own}, {other})"
    return key


def spelling_of(value: str) -> str:
    """Return the expression for the one spelling that is shown of those with a key; NULL for blank ones."""
    return f"min(CASE WHEN {key_of(value)} <> '' THEN trim({value}) END)"
