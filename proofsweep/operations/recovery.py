"""An operation that recovers sidecars: what it may write where, and what killed ones left behind."""

from collections import Counter
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path

from proofsweep.config.locations import one_line, path_of
from proofsweep.domain.errors import UsageError
from proofsweep.operations.operation_log import KilledOperations
from proofsweep.operations.operation_work import OperationContext, OutageGuard, operation_begun
from proofsweep.operations.recover_sidecars import SidecarRecovery, proven_items
from proofsweep.operations.results import Recovered, RecoveryRequest
from proofsweep.queries.connection import opened
from proofsweep.sources.files import Files
from proofsweep.sources.moves import Moves
from proofsweep.store.model_operations import OperationKind
from proofsweep.store.operations import OperationJournals, Operations
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.tables import recoveries
from proofsweep.store.watched import ingest_store, is_watched, watched_ids


def recover_sidecars(context: OperationContext, wanted: RecoveryRequest, most_bytes: int) -> Recovered:
    """Write the missing sidecars of items with a proof; `most_bytes` is the size of the largest one that is read."""
    lies_in_watched = _lies_in_watched(context)
    target = _target_of(wanted, lies_in_watched)
    outcomes: Counter[str] = Counter()
    intent = {"to": target}
    with operation_begun(context, OperationKind.RECOVERY, intent) as work:
        killed = killed_recoveries(context.results, context.files, context.clock)
        killed.end_all()
        work.counts["outcomes"] = outcomes
        recovery = SidecarRecovery(
            partner=work.partner,
            log=work.log,
            journals=killed.journals,
            budget=work.call_budget(wanted.max_calls),
            outage=OutageGuard(work.partner),
            files=context.files,
            is_watched=lies_in_watched,
            clock=context.clock,
            prefix=target,
            most_bytes=most_bytes,
            compares_all=wanted.compares_all,
            outcomes=outcomes,
        )
        below, with_one_files = _below(wanted), wanted.with_one_files
        recovery.run(proven_items(context.results, context.environment, below, with_one_files=with_one_files))
    return Recovered(operation_id=work.operation_id, outcomes=outcomes)


def killed_recoveries(results: Results, files: Files, clock: Callable[[], datetime]) -> KilledOperations:
    moves = Moves(files)
    return KilledOperations(
        journals=OperationJournals(results.store.within("_recovering"), recoveries.COLUMNS),
        operations=Operations(results),
        clock=clock,
        table="recoveries",
        key="recovered_to",
        counts_of=lambda rows: {"outcomes": Counter(str(row["outcome"]) for row in rows)},
        is_done=lambda row: moves.digest(str(row["recovered_to"])) == row["sidecar_sha256"],
    )


def _below(wanted: RecoveryRequest) -> str:
    if not wanted.below:
        return ""
    location = path_of(wanted.below, str(Path.cwd()))
    return f"{location}/" if wanted.below.endswith("/") and not location.endswith("/") else location


def _lies_in_watched(context: OperationContext) -> Callable[[str], bool]:
    results, environments = context.results, {context.environment}
    if ids := frozenset(watched_ids(ingest_store(results.store.url))):
        with opened(results, "all", asked="verdicts") as store:
            environments.update(store.environments)
    return partial(is_watched, ids=ids, environments=environments)


def _target_of(wanted: RecoveryRequest, lies_in_watched: Callable[[str], bool]) -> str | None:
    if wanted.with_one_files and wanted.prefix is None:
        raise UsageError("A sidecar beside a one-file WAV would make it a pair; give a place of its own with --to.")
    target = None if wanted.prefix is None else path_of(wanted.prefix, str(Path.cwd()))
    if target is not None and lies_in_watched(target.rstrip("/")):
        raise UsageError(
            f"{one_line(target)} lies in a folder that ingest watches: its files are taken for deliveries."
        )
    return target
