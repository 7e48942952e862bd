"""`proofsweep export`: a completion report as CSV or as a workbook."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import typer
from rich.console import Console

from proofsweep.answers.export import FORMATS, Exported
from proofsweep.answers.export import export as export_rows
from proofsweep.answers.views.selected_rows import SelectedRows
from proofsweep.errors import UsageError
from proofsweep.model.run_records import OUTCOMES
from proofsweep.settings import Settings, load_settings
from proofsweep.text import did_you_mean, printable
from proofsweep.wiring.operations import selected_rows
from proofsweep_cli.exit_codes import ExitCode
from proofsweep_cli.next_command import next_command
from proofsweep_cli.options import AsJson, Config, ResultsUrl, RunId
from proofsweep_cli.screen import console, counted, gone_words, print_json


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(export)


def export(
    run_id: str | None = RunId,
    *,
    only: str | None = typer.Option(
        None,
        "--only",
        metavar="OUTCOMES",
        help="Only these, separated by commas: accepted, rejected, failed, ineligible.",
    ),
    form: str | None = typer.Option(None, "--format", metavar="FORMAT", help="csv (the default) or xlsx."),
    by: str | None = typer.Option(
        None, "--by", metavar="TAG", help="One file for each value of a tag of the manifest, such as supplier."
    ),
    file: Path | None = typer.Option(
        None, "--file", metavar="FILE", help="Where to write; by default named here after the outcomes: rejected.csv."
    ),
    results: str | None = ResultsUrl,
    config: str | None = Config,
    as_json: bool = AsJson,
) -> int:
    """Write a completion report: each file with its outcome, why, what to do, and the request IDs.

    What people read comes first, paths and IDs last; a workbook (xlsx) begins with a sheet of totals. A report is
    a manifest too: `proofsweep verify` takes it, and each file keeps its item_id. No file is ever overwritten.

    Examples: `proofsweep export --only rejected --by supplier` · `proofsweep export --format xlsx --file night.xlsx`
    """
    settings = load_settings(config, results)
    outcomes = _outcomes_in(only)
    path = _path_of(file, form, "report" if only is None else "-".join(outcomes))
    selected, again = selected_rows(settings, run_id, outcomes), partial(next_command, config=config, results=results)
    return _into_files(settings, selected, path, by, as_json=as_json, again=again)


def _into_files(
    settings: Settings,
    selected: SelectedRows,
    path: Path,
    tag: str | None,
    *,
    as_json: bool,
    again: Callable[..., str],
) -> int:
    supplier_tag = tag or settings.ingest.supplier_tag
    done = export_rows(selected, path, tag, supplier_tag)
    if as_json:
        files = [{"file": str(report.path), "rows": report.rows} for report in done.reports]
        print_json({"files": files, "rows": sum(each.rows for each in done.reports), "pruned_on": selected.pruned_on})
        return ExitCode.ACCEPTED
    out = console()
    _print_reports(out, done, selected)
    if done.reports:
        words = _verify_again(done, settings)
        out.print(f"Verify them again: {again(*words)}", soft_wrap=True)
    return ExitCode.ACCEPTED


def _print_reports(out: Console, done: Exported, selected: SelectedRows) -> None:
    for report in done.reports:
        out.print(f"{report.path}: {counted(report.rows, 'row')}", soft_wrap=True)
    if not done.reports:
        out.print("There is no such row; nothing was written.")
    if gone := selected.gone():
        out.print(gone_words(gone), soft_wrap=True)
    if selected.plan is not None and selected.pruned:
        out.print(f"Run {selected.plan.run_id} {selected.pruned}.", soft_wrap=True)


def _outcomes_in(only: str | None) -> list[str]:
    """Read a list of outcomes, in the order of the tables; all if none is given."""
    given = [word.strip().lower() for word in (only or ",".join(OUTCOMES)).split(",") if word.strip()]
    for word in given:
        if word not in OUTCOMES:
            meant = did_you_mean(word, OUTCOMES)
            raise UsageError(f"--only {printable(word)!r}: no such outcome{meant}; there are {', '.join(OUTCOMES)}.")
    return [word for word in OUTCOMES if word in given]


def _path_of(file: Path | None, form: str | None, name: str) -> Path:
    """Return where to write; the ending of a name and the format must agree."""
    ending = (form or (file.suffix.removeprefix(".") if file and file.suffix else "csv")).lower()
    if ending not in FORMATS:
        raise UsageError(f"A report cannot be written as {printable(ending)!r}; take {' or '.join(FORMATS)}.")
    path = file or Path(f"{name}.{ending}")
    if path.suffix.lower() != f".{ending}":
        if path.suffix.lower().removeprefix(".") in FORMATS:
            raise UsageError(f"--file {printable(str(path))} and --format {ending} contradict each other.")
        path = path.with_name(f"{path.name}.{ending}")
    return path


def _verify_again(done: Exported, settings: Settings) -> list[str]:
    """Return the words of the command that verifies the first report, with the root that its files lie in."""
    command = ["verify", str(done.reports[0].path)]
    if done.root is None:
        return [*command, "--allow-outside"]
    return command if settings.catalog.root == done.root else [*command, "--root", done.root]
