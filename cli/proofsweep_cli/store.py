"""`proofsweep audit` and `proofsweep prune`: the results store, checked and made smaller."""

from collections.abc import Iterator, Sequence
from datetime import timedelta

import typer
from rich.text import Text

from proofsweep.audit.check import audit_store
from proofsweep.audit.findings import Audit, AuditFinding
from proofsweep.audit.line import checked_head
from proofsweep.audit.prune import Prunable, days_of, find_prunable
from proofsweep.audit.prune import prune as prune_store
from proofsweep.domain.errors import ResultsError
from proofsweep.domain.text import counted, printable
from proofsweep.store.parts import Pruning, Results
from proofsweep_cli.command import CommandRequest, with_request
from proofsweep_cli.exit_codes import ExitCode
from proofsweep_cli.screen import PURPLE, RED, size_text, styled

_SHOWN = 20
_ALL = "all"


@with_request()
def audit(
    request: CommandRequest,
    run_id: str = typer.Argument(_ALL, metavar="[RUN]", help="The run whose parts are read, or `all`."),
    *,
    head: str | None = typer.Option(
        None, "--head", metavar="DIGEST", help="Also check the store against a head that was kept elsewhere."
    ),
) -> int:
    """Names each thing that is wrong, and ends with exit code 3 then. It shows what was recorded, and that nobody
    changed it since; it is no statement of the service. Prints the head: keep it elsewhere, since only a copy outside
    the store shows that the whole store was not replaced. Nothing is written.

    Example: proofsweep audit --head 3f1c… --results s3://bucket/results
    """
    store = request.app.results
    only_run = None if run_id == _ALL else run_id
    kept_head = None if head is None else checked_head(head)
    with request.out.status("reading receipts …") as status:

        def show_run(run_id: str) -> None:
            status.update(f"reading {run_id} …")

        done = audit_store(store, only_run, kept_head, show_run)
    lines = _lines_of(done, store.store.url)
    request.answer(done.document(), lines)
    if done.wrong:
        return ExitCode.REJECTED
    return ExitCode.ACCEPTED


def _lines_of(done: Audit, url: str) -> Iterator[str | Text]:
    counts = f"{counted(done.runs, 'run')}, {counted(done.legs, 'leg')}"
    if done.operations:
        operations = counted(done.operations, "operation")
        counts = f"{counts}, {operations}"
    parts = counted(done.parts, "part")
    rows = counted(done.rows, "row")
    yield f"{url}: {counts}, {parts}, {rows} of verdicts"
    if done.parts_pruned:
        pruned = counted(done.parts_pruned, "part")
        yield f"  {pruned} pruned, as their receipts say"
    yield from _lines_of_findings("note", PURPLE, done.notes)
    yield from _lines_of_findings("wrong", f"bold {RED}", done.wrong)
    if not done.wrong:
        yield "This is what was recorded: nothing contradicts it."
    if done.head:
        yield f"head {done.head}"
        yield "Keep the head elsewhere: only that shows if somebody replaced the whole store."


def _lines_of_findings(word: str, style: str, findings: Sequence[AuditFinding]) -> Iterator[str | Text]:
    for finding in findings[:_SHOWN]:
        title = styled(f"{word}: ", style)
        what = styled(f"{finding.where} {finding.what}", "")
        yield title + what
    others = len(findings) - _SHOWN
    if others > 0:
        yield f"and {others:,} more; --json lists all"


@with_request()
def prune(
    request: CommandRequest,
    older_than: str = typer.Option(..., "--older-than", metavar="DAYS", help="Age of runs, like 400d."),
    *,
    yes: bool = typer.Option(False, "--yes", "-y", help="Delete; without it, only say what would be deleted."),
) -> int:
    """Only runs of the config's environment are pruned, without remaining rows, that ended long enough ago. Their rows
    in `runs`, their plans and their receipts stay, and entries of the log name all that was deleted. Repeat the
    command if it was interrupted.

    Examples: `proofsweep prune --older-than 400d` · `proofsweep prune --older-than 400d --yes`
    """
    days = days_of(older_than)
    store = request.app.results
    out = request.out
    environment = request.app.environment
    # A machine whose clock is years ahead would prune what is young.
    with request.app.keyless_service() as service:
        now = service.asked_clock()
    with out.status("reading the newest rows and the receipts …"):
        others = _other_environments(store, environment)
        prunable = find_prunable(store, days, now, environment)
    oldest_end = now - timedelta(days=days)
    before = f"{oldest_end:%Y-%m-%d %H:%M} UTC"
    name = printable(environment)
    lines = [f"{store.store.url}: what ended before {before} in the environment {name}"]
    if others:
        names = ", ".join(map(printable, others))
        lines.append(f"Nothing of {names}, which other configs name")
    lines.extend(_lines_of_prunable(prunable))
    pruned: list[Pruning] = []
    if not prunable.all and not prunable.unfinished:
        lines.append("There is nothing to delete.")
    elif yes:
        with out.status("deleting …"):
            pruned = prune_store(store, prunable)
        deleted = _sums(pruned)
        lines.append(f"Deleted: {deleted}; _log/ names it all")
    else:
        deletable = _sums(prunable.all)
        lines.append(f"Would delete: {deletable}; with --yes it does")
    document = {"environment": environment} | _document_of(prunable, pruned)
    request.answer(document, lines)
    return ExitCode.ACCEPTED


def _lines_of_prunable(prunable: Prunable) -> Iterator[str]:
    if prunable.begun:
        yield f"{len(prunable.begun):,} of these: an earlier prune was interrupted"
    if prunable.old_runs > len(prunable.new):
        runs = counted(prunable.old_runs, "run")
        yield f"{runs} are old enough; of the others each part holds newest answers"
    if prunable.unfinished:
        size_bytes = sum(prunable.unfinished.values())
        objects = counted(len(prunable.unfinished), "object")
        size = size_text(size_bytes)
        yield f"In the whole store, killed processes have left {objects}, {size} of writes and plans; that goes too"


def _document_of(prunable: Prunable, pruned: list[Pruning]) -> dict[str, object]:
    runs = []
    for pruning in prunable.all:
        objects = len(pruning.deleted)
        runs.append({"run_id": pruning.run_id, "bytes": pruning.size_bytes, "objects": objects})
    sizes = prunable.unfinished.values()
    unfinished = {"bytes": sum(sizes), "objects": len(sizes)}
    pruned_runs = [pruning.run_id for pruning in pruned]
    return {"found": runs, "pruned": pruned_runs, "unfinished": unfinished}


def _other_environments(results: Results, environment: str) -> list[str]:
    """Name the other environments of a store; ResultsError if it does not hold this one."""
    runs = results.log.runs()
    of_pruned_runs = {run.plan.environment for run in runs.pruned.values()}
    environments = runs.environments | of_pruned_runs
    if environments and environment not in environments:
        names = ", ".join(map(printable, sorted(environments)))
        # A config with a wrong label would prune nothing, and say that all is well.
        none = f"There is no run of {printable(environment)} in {results.store.url}"
        raise ResultsError(f"{none}, which holds the environments {names}: give the config of one.")
    return sorted(environments - {environment})


def _sums(prunings: list[Pruning]) -> str:
    names = sum(len(pruning.deleted) for pruning in prunings)
    size_bytes = sum(pruning.size_bytes for pruning in prunings)
    objects = counted(names, "object")
    runs = counted(len(prunings), "run")
    return f"{objects}, {size_text(size_bytes)}, of {runs}"
