"""Print tables and sentences, on a terminal or into a log file."""

import csv
import io
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import IO, Any

import typer
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from proofsweep.domain.errors import NothingDue
from proofsweep.domain.text import printable, printable_json
from proofsweep.domain.verdicts import MEANING_OF_VALID
from proofsweep.ingest.lines import ignored_words
from proofsweep.queries.status import NEED_ATTENTION, NamedFile, RunStatus
from proofsweep.reports.run import advice_for, calls_of, ending_of, label_of, notes_of
from proofsweep.sources.completion_report import defused

COLOURS = {"accepted": "green", "rejected": "red", "failed": "yellow", "ineligible": "magenta"}
_PLAIN_COLUMNS = 500  # away from a terminal
_TABLE_COLUMNS = 80  # a narrower terminal folds the advice of a summary into a column of a few letters


class _Screen(Console):
    """A console on which each string is one line, and whose reader may close early, as `head` does.

    If the reader closes, the run goes on and keeps its exit code.
    """

    def render_str(self, text: str, **options: Any) -> Text:  # noqa: ANN401 - the options are rich's own
        return super().render_str(printable(text), **options)

    def on_broken_pipe(self) -> None:
        _discard(self.file)


def console(*, to_stderr: bool = False) -> Console:
    """Make a console that reads no markup in names, and does not fold lines away from a terminal."""
    stream = sys.stderr if to_stderr else sys.stdout
    width = None if stream.isatty() else _PLAIN_COLUMNS
    return _Screen(file=stream, highlight=False, markup=False, emoji=False, width=width)


def print_json(document: object) -> None:
    """Print one JSON object."""
    with suppress(BrokenPipeError):
        sys.stdout.write(printable_json(document) + "\n")
    flush()


def print_json_array(objects: Iterable[object]) -> None:
    """Print one JSON array as its objects come; one a line, so that it can be read line by line too."""
    between = "[\n"
    with suppress(BrokenPipeError):
        for each in objects:
            sys.stdout.write(between + printable_json(each))
            between = ",\n"
        sys.stdout.write("[]\n" if between == "[\n" else "\n]\n")
    flush()


def print_nothing_due(out: Console, nothing: NothingDue, *, as_json: bool) -> None:
    """Say that no row is due: there is no run, and nothing to do."""
    if as_json:
        print_json({"items": 0, "skipped": nothing.skipped})
    else:
        out.print(nothing.message, soft_wrap=True)


def print_csv(header: Sequence[str], rows: Iterable[Sequence[str | None]]) -> None:
    """Print CSV whose cells are one line each, and no formula to a spreadsheet."""
    with suppress(BrokenPipeError):
        lines = csv.writer(sys.stdout, lineterminator="\n")  # as other tools of a pipe expect
        lines.writerow(header)
        for row in rows:
            lines.writerow(["" if cell is None else defused(printable(cell)) for cell in row])
    flush()


def print_error(message: str) -> None:
    """Print one line on stderr."""
    typer.echo(f"proofsweep: {printable(message)}", err=True)


def styled(text: str, style: str) -> Text:
    """Make styled text of one line, to be put together with others."""
    return Text(printable(text), style=style)


def show_unknown_letters() -> None:
    """Let a terminal that is not UTF-8 show an escape for a letter that it lacks: Python would end the program."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def flush() -> None:
    """Flush the output; discard it if the reader has closed the pipe."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            _discard(stream)


def _discard(stream: IO[str]) -> None:
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, stream.fileno())
    os.close(sink)


def print_summary(
    out: Console, run: RunStatus, results_url: str, *, resume: str, files: Sequence[NamedFile], rejects: str
) -> None:
    """Print a run's summary, with files that need attention, and the commands for what remains and for all files."""
    out.print()
    out.print(styled(f"Run {run.plan.run_id}", "bold"), f"— {ending_of(run)}")
    out.print()
    out.print("  ", _counts(run), sep="")
    out.print()
    if run.groups:
        _print_kinds(out, run)
        out.print()
    _print_attention(out, run, files, rejects)
    out.print(
        f"  {calls_of(run)}; {run.total('throttled'):,} throttled, {size_text(run.total('bytes_sent'))} sent, "
        f"{run.seconds:,.1f} s in {counted(len(run.legs), 'leg')}",
        soft_wrap=True,
    )
    print_ignored(out, run.plan.ignored)
    for note in notes_of(run):
        out.print(f"  {note}", style="yellow")
    if not run.is_over:
        out.print(f"  {counted(run.remaining, 'row')} to do: {resume}", style="bold", soft_wrap=True)
    out.print(f"  tables: {results_url}/{{verdicts,exchanges,runs}}", soft_wrap=True)
    out.print(Padding(MEANING_OF_VALID, (0, 0, 0, 2), expand=False), style="dim")


def print_ignored(out: Console, counts: Mapping[str, int]) -> None:
    """Say what a catalog holds besides its rows, and which sidecars are sent that no column names."""
    if others := {cause: count for cause, count in counts.items() if cause != "sidecars_beside"}:
        out.print(f"  ignored: {ignored_words(others)}")
    if beside := counts.get("sidecars_beside"):
        lies = "lies beside its audio" if beside == 1 else "lie beside their audio"
        out.print(
            f"  the manifest has no sidecar column: {counted(beside, 'sidecar')} {lies}, sent as pairs "
            "(catalog.sidecars_beside = false sends the audio alone)",
            style="yellow",
            soft_wrap=True,
        )


def gone_words(files: int) -> str:
    """Say how many more files there would be in a list if their catalogs listed them still."""
    return f"{files:,} more {'is' if files == 1 else 'are'} gone: no catalog lists {'it' if files == 1 else 'them'} now"


def counted(count: int, noun: str) -> str:
    """Write a number of things."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def size_text(size_bytes: float) -> str:
    """Write a number of bytes in binary units."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size_bytes < 1024:  # noqa: PLR2004 - the step of the binary units
            return f"{size_bytes:,.0f} {unit}" if unit == "B" else f"{size_bytes:,.1f} {unit}"
        size_bytes /= 1024
    return f"{size_bytes:,.1f} TiB"


def _print_attention(out: Console, run: RunStatus, files: Sequence[NamedFile], rejects: str) -> None:
    needed = sum(run.rows(outcome) for outcome in NEED_ATTENTION)
    if not needed:
        return
    some = f"; {len(files)} of them" if 0 < len(files) < needed else ""
    out.print(f"  {counted(needed, 'file')} to look at{some}" + (":" if files else ""), style="bold")
    for file in files:
        kind = styled(f"{file.outcome} · {file.reason}", COLOURS.get(file.outcome, ""))
        out.print("    ", kind, "  ", file.audio, sep="", soft_wrap=True)
    out.print(f"  all of them, with what to do: {rejects}", soft_wrap=True)
    out.print()


def _counts(run: RunStatus) -> Text:
    words = [styled(f"{run.rows(word):,} {word}", COLOURS[word]) for word in COLOURS if run.rows(word)]
    words.append(styled(f"{run.finished:,} of {counted(run.plan.items, 'row')}", "bold"))
    return Text("   ").join(words)


def _print_kinds(out: Console, run: RunStatus) -> None:
    if out.width >= _TABLE_COLUMNS:
        out.print(_kinds(run))
        return
    for group in run.groups:
        kind = styled(f"{group.rows:,} {label_of(group)}", COLOURS.get(group.outcome, ""))
        out.print("  ", kind, sep="", soft_wrap=True)
        out.print(Padding(advice_for(group), (0, 0, 0, 4), expand=False))


def _kinds(run: RunStatus) -> Table:
    table = Table(box=None, padding=(0, 0, 0, 2), pad_edge=True, header_style="bold")
    table.add_column("rows", justify="right")
    table.add_column("outcome")
    table.add_column("what to do")
    for group in run.groups:
        style = COLOURS.get(group.outcome, "")
        table.add_row(f"{group.rows:,}", styled(label_of(group), style), advice_for(group))
    return table
