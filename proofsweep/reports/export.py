"""Export rows as completion reports for us, or as lists and letters for suppliers: one for each value of a tag."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from typing import IO
from unicodedata import category

from proofsweep.config.locations import new_file
from proofsweep.domain.errors import UsageError
from proofsweep.domain.items import Row
from proofsweep.domain.reasons import about
from proofsweep.domain.tags import key_of_tag, key_of_value, tag_named, tags_of
from proofsweep.domain.text import counted, did_you_mean, printable
from proofsweep.queries.selected_rows import ChosenFiles, SelectedRows, having
from proofsweep.reports.languages import ENGLISH, Language, Languages, language_named
from proofsweep.reports.letters import is_known_to_supplier, letter_to, name_for_supplier, problem_of
from proofsweep.reports.sheets import CompletionReport, write_csv, write_json, write_parquet, write_xlsx


class ExportFormat(StrEnum):
    CSV = "csv"
    XLSX = "xlsx"
    JSON = "json"
    PARQUET = "parquet"
    LETTER = "letter"

    @property
    def ending(self) -> str:
        if self is ExportFormat.LETTER:
            return ".txt"
        return f".{self}"


_WRITERS = {
    ExportFormat.CSV: write_csv,
    ExportFormat.XLSX: write_xlsx,
    ExportFormat.JSON: write_json,
    ExportFormat.PARQUET: write_parquet,
}
# The own columns of a report: the file as seen from the catalog's root comes first, and the tags stand after it.
OWN_HEADER = (
    "file",
    *("outcome", "in_words", "what_to_do", "for_supplier", "detail", "reason", "verdict", "http_status", "error_code"),
    *("audio_bytes", "finished_at"),
    # Locations and IDs, for support.
    *("manifest_line", "audio", "sidecar", "id", "audio_sha256", "proof_id", "uploads_request_id", "verify_request_id"),
    "run_id",
)
_FOR_PEOPLE = OWN_HEADER.index("what_to_do") + 1
SUPPLIER_HEADER = ("file", "outcome", "in_words", "what_to_do")
_FOR_PROGRAMS = (ExportFormat.JSON, ExportFormat.PARQUET)
_MADE = ("in_words", "what_to_do", "for_supplier", "id")
_OF_FILES = [name for name in OWN_HEADER if name not in _MADE]
_COLUMNS = (*_OF_FILES, "item_id", "tags", "is_told")
_NO_VALUE = "''"
_LONGEST_BYTES = 120  # file systems allow 255, and a name has an ending and a prefix


@dataclass(frozen=True, slots=True)
class Target:
    """A place to write to: a file, or the beginning and the ending of the names of several."""

    path: Path
    form: ExportFormat
    is_in_folder: bool = False  # that a person named, and that may have to be made

    @classmethod
    def of(cls, file: str | None, given: str | None, default: str) -> "Target":
        """Choose format and path from what a person gave for each; `default` is the name of a file without ending.

        `file` may be a folder, if it ends in a slash or is there. UsageError if there is no such format, or if the
        ending of the file's name is not that of the format.
        """
        form = None
        if given is not None:
            form = _format_named(given)
        # A folder that is not there yet is known by its slash alone.
        if file is None or file.endswith("/") or _is_folder(file):
            form = form or ExportFormat.CSV
            path = Path(file or "", f"{default}{form.ending}")
            return cls(path, form, is_in_folder=file is not None)
        path = Path(file)
        ending = path.suffix.lower()
        if form is None:
            return cls(path, _format_of_ending(path))
        if ending != form.ending:
            renamed = path.with_suffix(form.ending)
            better = printable(renamed.name)
            what = f"--format {form} writes files that end in {form.ending}, and --file {printable(file)} does not"
            raise UsageError(f"{what}: name it {better}, or give a folder.")
        return cls(path, form)

    def of_value(self, key: str, tag: str) -> Path:
        """Return the path for the rows with a value of a tag: it depends on the value's key alone, on every day."""
        path = self.path
        # A value may be spelled like the name for no value: `taken` keeps the two files apart.
        none = f"no-{file_name_of(key_of_tag(tag))}"
        name = none
        if key:
            name = file_name_of(key, taken=none)
        return path.with_name(f"{path.stem}-{name}{path.suffix}")


@dataclass(frozen=True, slots=True)
class WrittenReport:
    path: Path
    rows: int
    lacks: str | None  # the tag by which the files are put apart, if its rows have none


def export(
    selected: SelectedRows,
    outcomes: Sequence[str],
    target: Target,
    *,
    today: date,
    by: str | None = None,
    languages: Languages | None = None,
) -> list[WrittenReport]:
    """Write the rows to a file; `by` a tag, to one for each of its values; by `TAG=VALUE`, to one for this value.

    With languages the files are for suppliers, else for us. A letter is for suppliers. UsageError, and nothing is
    written, if a file exists, no row has the tag or the value, or one cannot be written.
    """
    is_letter = target.form is ExportFormat.LETTER
    with selected.opened(having(outcomes, is_told=is_letter), has_rows=True) as files, ExitStack() as undo:
        tag, value = _put_apart(files, selected, by)
        counts = files.counts_by(value)
        paths = [target.path] * len(counts)
        if tag is not None:
            paths = [target.of_value(key, tag) for key, _, _ in counts]
        # All files are looked for before the first is written: a refusal leaves nothing behind.
        _refuse_existing(paths)
        if target.is_in_folder and counts:
            _make_folder(target.path.parent)
        writer = _Writer.of(files, target.form, tag, languages, today)
        reports = []
        # One scan for all files: a query for each of thousands of suppliers would read all rows each time.
        groups = groupby(files.rows_by(_COLUMNS, value), key=lambda keyed: keyed[0])
        for counted_value, path, (_, keyed) in zip(counts, paths, groups, strict=True):
            rows_of_file = (row for _, row in keyed)
            with new_file(path) as file:
                writer.write(file, counted_value, rows_of_file)
            # What was written before an error would stand in the way of the next try.
            undo.callback(path.unlink, missing_ok=True)
            _, spelling, rows = counted_value
            lacks = None if spelling else tag
            reports.append(WrittenReport(path, rows, lacks))
        undo.pop_all()  # they are whole
        return reports


def _put_apart(files: ChosenFiles, selected: SelectedRows, by: str | None) -> tuple[str | None, str]:
    """Return the tag that puts files apart and the SQL of its value; of `TAG=VALUE`, leave out all others."""
    if by is None:
        return None, _NO_VALUE
    tag, sign, wanted = by.partition("=")
    names = [spellings[0] for spellings in files.spellings().values()]
    if tag_named(by, names):  # a tag's own name may hold the sign
        tag, sign = by, ""
    value = _value_of(files, tag)
    if sign:
        files.keep(value, key_of_value(wanted))
        if not files.counts_by(value):
            _refuse_unknown(selected, tag, wanted)
    return tag, value


def _value_of(files: ChosenFiles, tag: str) -> str:
    values = files.tag_values([tag])  # none if there are no files
    return next(iter(values.values()), _NO_VALUE)


def _refuse_unknown(selected: SelectedRows, tag: str, wanted: str) -> None:
    """Refuse a value that no file has, whatever its outcome."""
    # A mistyped name is no supplier without a problem.
    with selected.opened() as files:
        value = _value_of(files, tag)
        known = [key for key, _, _ in files.counts_by(value)]
    key = key_of_value(wanted)
    if key not in known:
        what = f"the {printable(tag)} {printable(wanted)!r}"
        meant = did_you_mean(key, known)
        raise UsageError(f"No file has {what}{meant}.")


@dataclass(frozen=True, slots=True)
class _Columns:
    header: Sequence[str]
    cells_of: Callable[[Row], Sequence[object]]
    for_people: int
    sheet: str = "files"


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes the files of one value: a list of ours, or a supplier's list or letter in its language."""

    form: ExportFormat
    spellings: Mapping[str, str]  # the one name of each tag, by its key
    tags: Sequence[str]  # that are columns
    languages: Languages | None  # of suppliers; None if the files are for us
    today: date

    @classmethod
    def of(
        cls, files: ChosenFiles, form: ExportFormat, tag: str | None, languages: Languages | None, today: date
    ) -> "_Writer":
        spellings = {key: names[0] for key, names in files.spellings().items()}
        if languages is None:
            return cls(form, spellings, list(spellings.values()), None, today)
        # Other columns of a catalog are ours, and nothing tells which: a supplier sees the tag that chose its files,
        # and those that name recordings and releases.
        by = key_of_tag(tag or "")
        tags: list[str] = []
        for key, spelling in spellings.items():
            is_told = key == by or is_known_to_supplier(key)
            if is_told:
                tags.append(spelling)
        return cls(form, spellings, tags, languages, today)

    def write(self, file: IO[bytes], counted_value: tuple[str, str, int], rows: Iterable[Row]) -> None:
        key, spelling, count = counted_value
        columns = _OURS
        if self.languages is not None:
            language = self.languages.of_supplier(key)
            if self.form is ExportFormat.LETTER:
                tagged = ((row, self._tags_of(row)) for row in rows)
                letter = letter_to(spelling, tagged, language, self.today)
                # A name of a disk may be no UTF-8: in a letter it is shown escaped, and hinders no other file.
                file.write(letter.encode("utf-8", "backslashreplace"))
                return
            columns = _for_supplier(language, self.form)
        lines = self._lines(rows, columns)
        title = f"{spelling} {self.today}".lstrip()
        report = CompletionReport(self.tags, columns.header, lines, count, columns.for_people, columns.sheet, title)
        write = _WRITERS[self.form]
        write(file, report)

    def _tags_of(self, row: Row) -> dict[str, str]:
        """Return the tags of a row, each in the one spelling of its column."""
        tags: dict[str, str] = {}
        for name, value in tags_of(str(row["tags"] or "")).items():
            spelling = self.spellings[key_of_tag(name)]
            tags[spelling] = str(value)
        return tags

    def _lines(self, rows: Iterable[Row], columns: _Columns) -> Iterator[list[object]]:
        """Yield the cells of each row: the first column, the tags, and the other columns."""
        # One at a time: there may be more rows than fit into memory.
        for row in rows:
            first, *others = columns.cells_of(row)
            tags = self._tags_of(row)
            yield [first, *map(tags.get, self.tags), *others]


def _our_cells(row: Row) -> list[object]:
    reason = str(row["reason"] or "")
    entry = about(reason, str(row["outcome"]))
    for_supplier = None
    if row["is_told"]:
        problem = language_named(ENGLISH).problem(reason)
        for_supplier = problem.sentences
    made = {"in_words": entry.plain, "what_to_do": entry.remedy, "for_supplier": for_supplier, "id": row["item_id"]}
    cells = row | made
    return [cells[name] for name in OWN_HEADER]


_OURS = _Columns(OWN_HEADER, _our_cells, _FOR_PEOPLE)


def _for_supplier(language: Language, form: ExportFormat) -> _Columns:
    """Return the columns of a supplier's list; programs find the same names and outcomes in every language."""
    header: tuple[str, ...] = SUPPLIER_HEADER
    outcomes: Mapping[str, str] = {}
    if form not in _FOR_PROGRAMS:
        headings = language.headings.model_dump()
        header = tuple(headings.values())
        outcomes = language.outcomes.model_dump()

    def cells_of(row: Row) -> list[object]:
        outcome, problem = problem_of(row, language)
        in_words = what_to_do = None
        if problem is not None:
            in_words, what_to_do = problem.in_words, problem.request
        name = name_for_supplier(row)
        outcome_in_language = outcomes.get(outcome, outcome)
        return [name, outcome_in_language, in_words, what_to_do]

    return _Columns(header, cells_of, len(header), language.files)


def file_name_of(key: str, taken: str = "") -> str:
    """Name a file after the key of a value, in letters of every script; a digest tells apart what would be the same."""
    kept = "".join(map(_letter_of_name, key)).lstrip(".")
    cut = kept.encode()[:_LONGEST_BYTES]
    # A cut in the middle of a letter of several bytes leaves that letter out.
    plain = cut.decode(errors="ignore")
    if plain == key and plain != taken:
        return plain
    encoded = key.encode("utf-8", "replace")
    digest = hashlib.sha256(encoded).hexdigest()
    return f"{plain or 'supplier'}-{digest[:8]}"


def _letter_of_name(letter: str) -> str:
    is_plain = letter in "._-" or category(letter)[0] in "LMN"
    return letter if is_plain else "_"


def _format_named(given: str) -> ExportFormat:
    word = given.strip().lower()
    formats = list(ExportFormat)
    if word in formats:
        return ExportFormat(word)
    shown = printable(given)
    meant = did_you_mean(word, formats)
    listed = ", ".join(formats)
    raise UsageError(f"A report cannot be written as {shown!r}{meant}; take {listed}.")


def _format_of_ending(path: Path) -> ExportFormat:
    for form in ExportFormat:
        if path.suffix.lower() == form.ending:
            return form
    *tables, letter = [form.ending for form in ExportFormat]
    listed = ", ".join(tables)
    what = f"The ending of --file {printable(str(path))} says no format"
    raise UsageError(f"{what}: end it in {listed} or {letter} (a letter); a folder ends in a slash.")


def _is_folder(file: str) -> bool:
    try:
        return Path(file).is_dir()
    except (OSError, ValueError):  # a name that no disk can hold is told when it is written
        return False


def _refuse_existing(paths: Sequence[Path]) -> None:
    existing = [path for path in paths if _is_there(path)]
    if not existing:
        return
    first = printable(str(existing[0]))
    others = len(existing) - 1
    if others:
        what = f"{first} and {counted(others, 'other file')} exist already; none is overwritten."
    else:
        what = f"{first} exists already; it is not overwritten."
    raise UsageError(f"{what} Give another name, or a folder like week-48/, with --file.")


def _is_there(path: Path) -> bool:
    try:
        return path.exists() or path.is_symlink()
    except OSError:  # a name that no disk can hold is told when it is written
        return False


def _make_folder(folder: Path) -> None:
    """Make the folder that a person named."""
    # The one above it must be there, else a name is mistyped.
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        shown = printable(str(folder))
        why = error.strerror or error
        raise UsageError(f"{shown} cannot be made: {why}") from error
