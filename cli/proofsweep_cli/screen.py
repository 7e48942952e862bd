"""Print tables and sentences, on a terminal or into a log file."""

import codecs
import csv
import io
import os
import re
import sys
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import IO, Any

from rich.cells import cell_len
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from proofsweep.domain.errors import DISK_IS_FULL
from proofsweep.domain.text import counted, csv_cell, printable, printable_json
from proofsweep.files.folder_listing import ignored_words

# Of the 256 colours, which no theme changes, some that a person can read on white and on black alike. A terminal of 16
# shows the nearest of these: yellow, which vanishes on white, is that of none.
GREEN = "color(28)"
RED = "color(160)"
PURPLE = "color(163)"
BLUE = "color(31)"
COLOURS = {"accepted": GREEN, "rejected": RED, "failed": PURPLE, "ineligible": BLUE}
# Columns of text beside something else: in fewer it stands below.
NARROWEST = 30
_BINARY_STEP = 1024
_WORD = re.compile(r"\S+")
# Away from a terminal, no line is folded.
_PLAIN_COLUMNS = 1_000_000


class Screen(Console):
    """A console on which each string is one line, and whose reader may close early, as `head` does.

    If the reader closes, the run goes on and keeps its exit code.
    """

    def render_str(self, text: str, **options: Any) -> Text:  # noqa: ANN401 - the options are rich's own
        return super().render_str(printable(text), **options)

    def line(
        self,
        *objects: object,
        style: str | None = None,
        sep: str = " ",
        column: int | None = None,
        command: str = "",
    ) -> None:
        """Print a line, which a terminal wraps between words, and nobody else.

        What follows its first line begins in a `column`, counted from 0, by default two behind the first word. The
        `command` at its end stays whole, so that it can be copied: if there is no room for it, it has its own line.
        """
        text = Text(sep).join(map(_text_of, objects))
        lines = [text]
        if self.is_terminal:
            lines = _wrapped(text, printable(command), self.width, column)
        elif command:
            text_and_command = Text(" ").join([text, styled(command, "")])
            lines = [text_and_command]
        for line in lines:
            self.print(line, style=style, soft_wrap=True)

    def on_broken_pipe(self) -> None:
        # Rich itself would end the program with exit code 1.
        _discard(self.file)


def _text_of(value: object) -> Text:
    if isinstance(value, Text):
        return value
    return styled(str(value), "")


def _wrapped(text: Text, command: str, width: int, column: int | None) -> list[Text]:
    """Divide a line between words. A word that is longer than a line stays whole: the terminal goes on with it."""
    plain = text.plain
    indent = len(plain) - len(plain.lstrip())
    if column is None or width - column < NARROWEST:
        column = indent + 2
    words = [match.span() for match in _WORD.finditer(plain)]
    # The command is one word, whatever blanks it has.
    if command:
        text = Text.assemble(text, " ", command)
        words.append((len(plain) + 1, len(text)))
    starts = [0]
    room = width
    for start, end in words:
        is_first = not text.plain[starts[-1] : start].strip()
        if not is_first and cell_len(text.plain[starts[-1] : end]) > room:
            starts.append(start)
            room = width - column
    first, *others = text.divide(starts[1:])
    first.rstrip()
    lines = [first]
    for line in others:
        line.rstrip()
        lines.append(Text.assemble(" " * column, line))
    return lines


def console(*, to_stderr: bool = False) -> Screen:
    """Make a console that reads no markup in names, and does not fold lines away from a terminal."""
    stream = sys.stderr if to_stderr else sys.stdout
    # A log or a pipe is searched by line: a line that is folded is not found.
    width = None if stream.isatty() else _PLAIN_COLUMNS
    return Screen(file=stream, highlight=False, markup=False, emoji=False, width=width)


def table(*names: str, right: Container[str] = ()) -> Table:
    """Make a table without lines; its figures are in columns on the `right`."""
    new_table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in names:
        justify: JustifyMethod = "right" if name in right else "left"
        new_table.add_column(name, justify=justify, overflow="fold")
    return new_table


def print_json(document: object) -> None:
    _write([f"{_json_of(document)}\n"])


def print_json_array(objects: Iterable[object]) -> None:
    """Print objects as one array, each on a line of its own, so that it can be read line by line too."""
    _write(_json_array(map(_json_of, objects)))


def _json_of(document: object) -> str:
    """Write JSON for stdout: what is not UTF-8 there could not hold every letter, so each is an escape."""
    codec = codecs.lookup(sys.stdout.encoding or "ascii")
    is_utf = codec.name.startswith("utf")
    return printable_json(document, is_ascii=not is_utf)


def _json_array(objects: Iterable[str]) -> Iterator[str]:
    before = "[\n"
    for text in objects:
        yield before + text
        before = ",\n"
    yield "[]\n" if before == "[\n" else "\n]\n"


def print_csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print cells that steer no terminal, and that no spreadsheet runs as a formula."""
    _write(_csv_lines(header, rows))


def _csv_lines(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    line = io.StringIO()
    # Other tools of a pipe expect no carriage return.
    writer = csv.writer(line, lineterminator="\n")
    for values in chain([header], rows):
        writer.writerow(map(_cell_of, values))
        yield line.getvalue()
        line.seek(0)
        line.truncate()


def _cell_of(value: object) -> object:
    if isinstance(value, str):
        return csv_cell(printable(value))
    return csv_cell(value)


def _write(texts: Iterable[str]) -> None:
    """Write to stdout, whose reader may close early, as `head` does."""
    with suppress(BrokenPipeError):
        sys.stdout.writelines(texts)
    flush()


def styled(text: str, style: str) -> Text:
    return Text(printable(text), style=style)


def show_unknown_letters() -> None:
    """Let a terminal that is not UTF-8 show an escape for a letter that it lacks: Python would end the program."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def open_closed_streams() -> None:
    """Put nothing in the place of standard streams that were closed before the start, as by `2>&-`."""
    # In their order, so that each gets the number that it should have.
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            null_device = os.open(os.devnull, os.O_RDWR)
            stream = os.fdopen(null_device, mode, encoding="utf-8")
            setattr(sys, name, stream)


def flush() -> None:
    """Flush the standard streams; what nobody takes is dropped. OSError if the disk of stdout is full."""
    try:
        sys.stderr.flush()
    except OSError:
        _discard(sys.stderr)
    try:
        sys.stdout.flush()
    except OSError as error:
        _discard(sys.stdout)
        if error.errno in DISK_IS_FULL:
            raise


def _discard(stream: IO[str]) -> None:
    # Else what is still in its buffer would raise again when Python ends, and change the exit code.
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, stream.fileno())
    os.close(sink)


def print_ignored(out: Screen, counts: Mapping[str, int]) -> None:
    """Say what a catalog holds besides its rows, and which sidecars are sent that no column names."""
    others = dict(counts)
    beside = others.pop("sidecars_beside", 0)
    if others:
        out.line(f"  ignored: {ignored_words(others)}")
    if beside:
        sidecars = counted(beside, "sidecar")
        lies = "lies beside its audio" if beside == 1 else "lie beside their audio"
        out.line(
            f"  the manifest has no sidecar column: {sidecars} {lies}, sent as pairs "
            "(catalog.columns.sidecar = 'none' sends the audio alone)",
            style=PURPLE,
        )


def size_text(size_bytes: float) -> str:
    if size_bytes < _BINARY_STEP:
        return f"{size_bytes:,.0f} B"
    for unit in ("KiB", "MiB", "GiB"):
        size_bytes /= _BINARY_STEP
        if size_bytes < _BINARY_STEP:
            return f"{size_bytes:,.1f} {unit}"
    return f"{size_bytes / _BINARY_STEP:,.1f} TiB"
