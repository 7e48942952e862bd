"""`proofsweep audit`: check that the records are as they were written."""

from collections.abc import Sequence
from contextlib import nullcontext

import typer
from rich.console import Console

from proofsweep.audit.findings import Audit, AuditFinding
from proofsweep.config.load import load_settings
from proofsweep.wiring.operations import audited
from proofsweep.wiring.stores import results_for
from proofsweep_cli.exit_codes import ExitCode
from proofsweep_cli.options import AsJson, Config, ResultsUrl
from proofsweep_cli.screen import console, counted, print_json, styled

_SHOWN = 20

_ALL = "all"


def audit(
    run_id: str = typer.Argument(_ALL, metavar="[RUN]", help="The run whose parts are read, or `all`."),
    *,
    head: str | None = typer.Option(
        None, "--head", metavar="DIGEST", help="Also check the store against a head that was kept elsewhere."
    ),
    results: str | None = ResultsUrl,
    config: str | None = Config,
    as_json: bool = AsJson,
) -> int:
    """Check the tables against the receipts, rows against planned items, and request IDs against exchanges.

    Names each thing that is wrong, and ends with exit code 3 then. It shows what was recorded, and that nobody changed
    it since; it is no statement of the service. Prints the head: keep it elsewhere, since only a copy outside the store
    shows that the whole store was not replaced. Nothing is written.

    Example: proofsweep audit --head 3f1c… --results s3://bucket/results
    """
    settings, out = load_settings(config, results), console(to_stderr=as_json)
    with out.status("reading receipts …") if out.is_terminal else nullcontext() as status:
        tell = (lambda run: status.update(f"reading {run} …")) if status else (lambda _: None)
        run = None if run_id == _ALL else run_id
        done = audited(settings, run, head, tell)
    if as_json:
        print_json(done.document())
    else:
        _print(out, done, results_for(settings).store.url)
    return ExitCode.REJECTED if done.wrong else ExitCode.ACCEPTED


def _print(out: Console, done: Audit, url: str) -> None:
    checked = done.checked
    counts = [counted(checked.runs, "run"), counted(checked.legs, "leg"), counted(checked.parts, "part")]
    if checked.operations:
        counts.insert(2, counted(checked.operations, "operation"))
    out.print(f"{url}: {', '.join(counts)}, {counted(checked.rows, 'row')} of verdicts", soft_wrap=True)
    if checked.pruned_parts:
        out.print(f"  {counted(checked.pruned_parts, 'part')} pruned, as their receipts say", soft_wrap=True)
    _print_findings(out, "note", "yellow", done.notes)
    _print_findings(out, "wrong", "bold red", done.wrong)
    if not done.wrong:
        out.print("This is what was recorded: nothing contradicts it.", soft_wrap=True)
    if done.head:
        out.print(f"head {done.head}", soft_wrap=True, highlight=False)
        out.print("Keep the head elsewhere: only that shows if somebody replaced the whole store.", soft_wrap=True)


def _print_findings(out: Console, word: str, style: str, found: Sequence[AuditFinding]) -> None:
    for finding in found[:_SHOWN]:
        out.print(styled(f"{word}: ", style) + styled(f"{finding.where} {finding.what}", ""), soft_wrap=True)
    if len(found) > _SHOWN:
        out.print(f"and {len(found) - _SHOWN:,} more; --json lists all")
