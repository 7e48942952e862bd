"""`proofsweep diff`: what changed in a run against what was known before, and why."""

from collections.abc import Iterator
from itertools import groupby

import typer
from rich.console import Console

from proofsweep.config.load import load_settings
from proofsweep.domain.errors import UsageError
from proofsweep.domain.text import markdown, printable
from proofsweep.queries.changes import (
    COLUMNS,
    PREVIOUS,
    Comparison,
    RunChanges,
    comparison_of,
    run_changes,
    words_of_cause,
)
from proofsweep.wiring.stores import meant_run, results_for
from proofsweep_cli.exit_codes import ExitCode
from proofsweep_cli.options import Config, OfCatalog, ResultsUrl, Run
from proofsweep_cli.screen import console, counted, print_csv, print_error, print_json, styled

_COLOURS = {"broken": "red", "fixed": "green", "changed": "yellow", "new": "cyan", "gone": "magenta"}
_FORMATS = ("table", "csv", "json", "markdown")


def diff(
    run_id: str | None = Run,
    *,
    catalog: str | None = OfCatalog,
    against: str = typer.Option(
        PREVIOUS,
        "--against",
        metavar="RUN",
        help="A run; or previous: how each file stood before; or baseline: the catalog's first finished run.",
    ),
    form: str = typer.Option("table", "--format", metavar="FORMAT", help="table, csv, json or markdown."),
    limit: int = typer.Option(
        20, "--limit", "-n", min=1, help="Name at most this many files of each kind; csv has all."
    ),
    results: str | None = ResultsUrl,
    config: str | None = Config,
) -> int:
    """Show what changed: files that broke, that are fixed, new, gone or otherwise changed, each with the cause.

    The exit code is 3 if a file that was accepted before is not accepted now, else 0. A file that merely remains to be
    verified is not gone. Grades of two rubric versions are not compared.

    Examples: `proofsweep diff` · `proofsweep diff 20261120T091500Z_8c1f04 --against baseline --format csv`
    """
    if form not in _FORMATS:
        raise UsageError(f"There is no format {printable(form)!r}; there are {', '.join(_FORMATS)}.")
    settings = load_settings(config, results)
    run, note = meant_run(settings, run_id, catalog)
    if note is not None:
        print_error(note)
    comparison = comparison_of(results_for(settings), run, against)
    with run_changes(comparison) as found:
        counts = found.counts()
        match form:
            case "csv":
                print_csv(COLUMNS, (list(row.values()) for row in found.rows()))
            case "json":
                print_json(_json_of(comparison, found, against, limit))
            case "markdown":
                out = console()
                for line in _markdown_lines(comparison, found, limit):
                    out.print(line, soft_wrap=True)
            case _:
                _print_changes(console(), comparison, found, limit)
    return ExitCode.REJECTED if any(change == "broken" for change, *_ in counts) else ExitCode.ACCEPTED


def _headline(comparison: Comparison) -> str:
    before = comparison.before
    named = "how each file stood before" if before is None else f"run {before.run_id}"
    return f"Run {comparison.now.run_id} against {named}"


def _rubric_note(found: RunChanges) -> str:
    before, now = found.rubrics()
    if not before:
        return ""
    return f"Grades are not compared: their rubric changed from {', '.join(before)} to {', '.join(now)}."


def _words_of(row: dict[str, str | None]) -> str:
    sides = (_side(row[f"{side}_outcome"], row[f"{side}_reason"]) for side in ("before", "now"))
    return " → ".join(side for side in sides if side)


def _side(outcome: str | None, reason: str | None) -> str:
    return "" if outcome is None else outcome if reason is None else f"{outcome} · {reason}"


def _print_changes(out: Console, comparison: Comparison, found: RunChanges, limit: int) -> None:
    out.print(_headline(comparison), style="bold", soft_wrap=True)
    counts = {(change, cause): rows for change, cause, rows in found.counts()}
    for (change, cause), rows in groupby(found.rows(limit), key=lambda row: (str(row["change"]), row["cause"])):
        out.print()
        total, shown = counts[change, cause], 0
        out.print(
            "  ", styled(f"{total:,} {change}", _COLOURS[change]), f" · {words_of_cause(cause)}", sep="", soft_wrap=True
        )
        for row in rows:
            shown += 1
            out.print(f"    {row['file']}  {_words_of(row)}", soft_wrap=True)
        if total > shown:
            out.print(f"    … and {total - shown:,} more")
    out.print()
    if not counts:
        out.print("  nothing changed")
    out.print(f"  {counted(found.as_before(), 'file')} as before")
    if note := _rubric_note(found):
        out.print(f"  {note}", style="yellow", soft_wrap=True)


def _markdown_lines(comparison: Comparison, found: RunChanges, limit: int) -> Iterator[str]:
    yield f"# {markdown(_headline(comparison))}"
    yield from ("", "| files | change | cause |", "|---:|---|---|")
    yield from (f"| {rows:,} | {change} | {words_of_cause(cause)} |" for change, cause, rows in found.counts())
    yield f"| {found.as_before():,} | same | |"
    yield from ("", "| change | cause | file | before and now |", "|---|---|---|---|")
    for row in found.rows(limit):
        cells = (row["change"], words_of_cause(row["cause"]), row["file"], _words_of(row))
        yield f"| {' | '.join(markdown(str(cell)) for cell in cells)} |"
    yield from ("", markdown(_rubric_note(found)))


def _json_of(comparison: Comparison, found: RunChanges, against: str, limit: int) -> dict[str, object]:
    counts = [{"change": change, "cause": cause, "files": rows} for change, cause, rows in found.counts()]
    counts.append({"change": "same", "cause": None, "files": found.as_before()})
    return {
        "run_id": comparison.now.run_id,
        "against": against,
        "environment": comparison.now.environment,
        "counts": counts,
        "rubrics": dict(zip(("before", "now"), found.rubrics(), strict=True)),
        "files": list(found.rows(limit)),
    }
