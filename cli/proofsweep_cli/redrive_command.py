"""`proofsweep redrive`: verify again just those files whose row has a certain reason."""

from collections import Counter
from functools import partial

import typer

from proofsweep.answers.attention import attention_groups
from proofsweep.answers.run_status import NEED_ATTENTION
from proofsweep.errors import UsageError
from proofsweep.settings import Settings
from proofsweep.text import did_you_mean, printable
from proofsweep.wiring.engines import utc_now
from proofsweep.wiring.operations import plan_redrive, selected_rows
from proofsweep_cli.bounds import print_bounds
from proofsweep_cli.key_block import read_block
from proofsweep_cli.options import RunId
from proofsweep_cli.run_options import with_run_options
from proofsweep_cli.run_request import RunRequest
from proofsweep_cli.work_on_runs import plan_and_verify


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(redrive)


@with_run_options
def redrive(
    run_id: str | None = RunId,
    *,
    reason: list[str] | None = typer.Option(
        None, "--reason", metavar="REASON", help="Why a row was not accepted, as `rejects` names it; may be repeated."
    ),
    request: RunRequest,
) -> int:
    """Verify again, in a new run, just the files that were not accepted for a reason.

    Each file keeps its item_id and its tags, and is looked at anew. The sidecars are those that were planned: to find
    new ones, verify the catalog.

    Examples: `proofsweep redrive --reason timeout` · `proofsweep redrive 20261120T091500Z_8c1f04 --reason slot_refused`
    """
    settings = request.settings
    reasons = [word.strip() for each in reason or [] for word in each.split(",") if word.strip()]
    _refuse_unknown_reasons(settings, run_id, reasons)
    print_bounds(request.out, request.bounds, utc_now())
    selected = selected_rows(settings, run_id, NEED_ATTENTION, reasons)
    return plan_and_verify(
        request, settings, partial(plan_redrive, settings, selected, read_block, reserve=request.bounds.reserve)
    )


def _refuse_unknown_reasons(settings: Settings, run_id: str | None, reasons: list[str]) -> None:
    """Name the reasons that there are, if none was given, or one that no row has."""
    counts: Counter[str] = Counter()
    for group in attention_groups(selected_rows(settings, run_id, NEED_ATTENTION), 0):
        counts[group.reason] += group.rows
    unknown = [each for each in reasons if each not in counts]
    if reasons and not unknown:
        return
    there_are = ", ".join(f"{printable(name)} ({rows:,})" for name, rows in counts.most_common())
    rows = f"the rows have: {there_are}" if counts else "every file is accepted"
    if not reasons:
        raise UsageError(f"Say which files to verify again with --reason; {rows}.")
    raise UsageError(f"No row has the reason {printable(unknown[0])!r}{did_you_mean(unknown[0], counts)}; {rows}.")
