"""`proofsweep audit` and `proofsweep prune`: the results store, checked and made smaller."""

from collections.abc import Iterator
from datetime import timedelta

import typer
from rich.text import Text

from proofsweep.audit.check import audit_store
from proofsweep.audit.findings import Audit
from proofsweep.audit.line import checked_head
from proofsweep.audit.prune import days_of, find_prunable
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
    store, out = request.app.results, request.out
    with out.status("reading receipts …") as status:
        run = None if run_id == _ALL else run_id
        kept = None if head is None else checked_head(head)
        done = audit_store(store, run, kept, lambda run: status.update(f"reading {run} …"))
    request.answer(done.document(), _lines_of(done, store.store.url))
    return ExitCode.REJECTED if done.wrong else ExitCode.ACCEPTED


def _lines_of(done: Audit, url: str) -> Iterator[str | Text]:
    counts = [counted(done.runs, "run"), counted(done.legs, "leg"), counted(done.parts, "part")]
    if done.operations:
        counts.insert(2, counted(done.operations, "operation"))
    yield f"{url}: {', '.join(counts)}, {counted(done.rows, 'row')} of verdicts"
    if done.parts_pruned:
        yield f"  {counted(done.parts_pruned, 'part')} pruned, as their receipts say"
    for word, style, found in (("note", PURPLE, done.notes), ("wrong", f"bold {RED}", done.wrong)):
        for finding in found[:_SHOWN]:
            yield styled(f"{word}: ", style) + styled(f"{finding.where} {finding.what}", "")
        if len(found) > _SHOWN:
            yield f"and {len(found) - _SHOWN:,} more; --json lists all"
    if not done.wrong:
        yield "This is what was recorded: nothing contradicts it."
    if done.head:
        yield f"head {done.head}"
        yield "Keep the head elsewhere: only that shows if somebody replaced the whole store."


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
    store, out = request.app.results, request.out
    with request.app.keyless_service() as service:
        now = service.asked_clock()  # a machine whose clock is years ahead would prune what is young
    with out.status("reading the newest rows and the receipts …"):
        environment = request.app.environment
        others = _other_environments(store, environment)
        found = find_prunable(store, days, now, environment)
    before = f"{now - timedelta(days=days):%Y-%m-%d %H:%M} UTC"
    lines = [f"{store.store.url}: what ended before {before} in the environment {printable(environment)}"]
    if others:
        lines.append(f"Nothing of {', '.join(map(printable, others))}, which other configs name")
    if found.begun:
        lines.append(f"{len(found.begun):,} of these: an earlier prune was interrupted")
    if found.old_runs > len(found.new):
        lines.append(f"{counted(found.old_runs, 'run')} are old enough; of the others each part holds newest answers")
    if found.unfinished:
        left = f"{counted(len(found.unfinished), 'object')}, {size_text(sum(found.unfinished.values()))}"
        lines.append(f"In the whole store, killed processes have left {left} of writes and plans; that goes too")
    done: list[Pruning] = []
    if not found.all and not found.unfinished:
        lines.append("There is nothing to delete.")
    elif yes:
        with out.status("deleting …"):
            done = prune_store(store, found)
        lines.append(f"Deleted: {_sums(done)}; _log/ names it all")
    else:
        lines.append(f"Would delete: {_sums(found.all)}; with --yes it does")
    runs = [{"run_id": each.run_id, "bytes": each.size_bytes, "objects": len(each.deleted)} for each in found.all]
    pruned = [each.run_id for each in done]
    unfinished = {"bytes": sum(found.unfinished.values()), "objects": len(found.unfinished)}
    request.answer({"environment": environment, "found": runs, "pruned": pruned, "unfinished": unfinished}, lines)
    return ExitCode.ACCEPTED


def _other_environments(results: Results, environment: str) -> list[str]:
    """Name the other environments of a store; ResultsError if it does not hold this one."""
    runs = results.log.runs()
    pruned = {run.plan.environment for run in runs.pruned.values()}
    there = runs.environments | pruned
    if there and environment not in there:
        held = ", ".join(map(printable, sorted(there)))
        none = f"There is no run of {printable(environment)} in {results.store.url}"
        raise ResultsError(f"{none}, which holds the environments {held}: give the config of one.")
    return sorted(there - {environment})


def _sums(prunings: list[Pruning]) -> str:
    objects = counted(sum(len(each.deleted) for each in prunings), "object")
    size = size_text(sum(each.size_bytes for each in prunings))
    return f"{objects}, {size}, of {counted(len(prunings), 'run')}"
