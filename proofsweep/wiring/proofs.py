"""Operations on proofs, wired."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

from proofsweep.answers.views.connection import opened
from proofsweep.errors import ConfigError, UsageError
from proofsweep.files.files import Files
from proofsweep.files.locations import one_line, path_of
from proofsweep.files.moves import Moves
from proofsweep.model.operations import OperationKind
from proofsweep.model.proofs import Inventory, Recovered, RecoveryRequest
from proofsweep.model.tables import recoveries
from proofsweep.operations.compare_masters import compared_masters
from proofsweep.operations.killed_operations import KilledOperations
from proofsweep.operations.lost_sidecars import proven_items
from proofsweep.operations.outage_guard import OutageGuard
from proofsweep.operations.recover_sidecars import SidecarRecovery
from proofsweep.operations.take_inventory import take_inventory
from proofsweep.settings import Settings
from proofsweep.store.operation_journals import OperationJournals
from proofsweep.store.operations import Operations
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.watches import ingest_store, is_watched, watched_ids
from proofsweep.wiring.engines import ReadBlock, utc_now
from proofsweep.wiring.operations import call_budget, operation_begun
from proofsweep.wiring.stores import results_for

# Items that a line names. Chosen: a line of a log; half hides a usual number, twice is no line any more.
_MOST_NAMED = 10


def inventory_proofs(settings: Settings, read_block: ReadBlock | None = None) -> Inventory:
    """List all proofs, and reconcile them with the newest answers of the results store.

    Raises:
        CallFailed, ConfigError, ResultsError, RunMustStop: it could not be done.
    """
    with operation_begun(settings, OperationKind.INVENTORY, read_block) as work:
        call_budget(work, settings)
        found = take_inventory(work.partner, work.results, work.log)
        work.counts.update({**found.states, "unnamed": found.unnamed, "problem": found.problem})
    return found


def recover_sidecars(settings: Settings, wanted: RecoveryRequest, read_block: ReadBlock | None = None) -> Recovered:
    """Compare the sidecars of items with a proof with the sealed ones, and write those that are missing.

    Raises:
        ConfigError, ResultsError, RunMustStop, UsageError: it could not be done to its end.
    """
    environment, lies_in_watched = settings.service.environment, _lies_in_watched(settings)
    place = _place_of(settings, wanted, lies_in_watched)
    outcomes: Counter[str] = Counter()
    intent = {"to": place}  # nothing that names a file: a redaction must find all that does in tables
    with operation_begun(settings, OperationKind.RECOVERY, read_block, intent=intent) as work:
        killed = killed_recoveries(work.results, work.engine.files)
        killed.end_all()
        work.counts["outcomes"] = outcomes
        recovery = SidecarRecovery(
            partner=work.partner,
            log=work.log,
            journals=killed.journals,
            budget=call_budget(work, settings, wanted.max_calls),
            outage=OutageGuard(work.partner),
            files=work.engine.files,
            is_watched=lies_in_watched,
            clock=utc_now,
            prefix=place,
            most_bytes=settings.limits.sidecar_bytes,
            compares_all=wanted.compares_all,
            outcomes=outcomes,
        )
        items = proven_items(work.results, environment, _below(wanted), with_one_files=wanted.with_one_files)
        recovery.run(items)
    return Recovered(operation_id=work.log.operation.operation_id, outcomes=outcomes)


def killed_recoveries(results: Results, files: Files) -> KilledOperations:
    """Return what ends the recoveries of a store whose process was killed."""
    moves = Moves(files)
    return KilledOperations(
        journals=OperationJournals(results.store.within("_recovering"), recoveries.COLUMNS),
        operations=Operations(results),
        clock=utc_now,
        table="recoveries",
        key="recovered_to",
        counts_of=lambda rows: {"outcomes": Counter(str(row["outcome"]) for row in rows)},
        is_done=lambda row: moves.digest(str(row["recovered_to"])) == row["sidecar_sha256"],
    )


def line_of_masters(settings: Settings, run_id: str) -> str | None:
    """Say how the assets that a run has verified agree with their masters; None if the list gave no digest.

    Raises:
        ResultsError: the run cannot be read.
    """
    same, other = masters_of(settings, run_id)
    if not same and not other:
        return None
    named = f": {', '.join(other[:_MOST_NAMED])}" if other else ""
    return f"{same:,} assets are the masters, {len(other):,} are not{named}"


def masters_of(settings: Settings, run_id: str) -> tuple[int, list[str]]:
    """Count the assets of a run that are their masters, and name the items whose asset is not.

    Raises:
        ResultsError: the run cannot be read.
    """
    results = results_for(settings)
    masters = list(compared_masters(results, results.plan(run_id)))
    return sum(master.is_same for master in masters), [each.item_id for each in masters if not each.is_same]


def _below(wanted: RecoveryRequest) -> str:
    """Return the whole location of what a person named; with a slash at its end it is a folder."""
    if not wanted.below:
        return ""
    location = path_of(wanted.below, str(Path.cwd()))
    return f"{location}/" if wanted.below.endswith("/") and not location.endswith("/") else location


def _lies_in_watched(settings: Settings) -> Callable[[str], bool]:
    """Give what says whether a location lies in a folder that was ever watched with the results store."""
    results, environments = results_for(settings), {settings.service.environment}
    if ids := frozenset(watched_ids(ingest_store(results.store.url))):
        with opened(results, "all", with_tags=False) as store:
            environments.update(store.environments)
    return partial(is_watched, ids=ids, environments=environments)


def _place_of(settings: Settings, wanted: RecoveryRequest, lies_in_watched: Callable[[str], bool]) -> str | None:
    """Give the place to write below, before anything is called; None for beside the audio."""
    if settings.service.sidecar_field is None:
        raise ConfigError("The sidecar's wire name is not set: ask the partner for it and set service.sidecar_field.")
    if wanted.with_one_files and wanted.prefix is None:
        raise UsageError("A sidecar beside a one-file WAV would make it a pair; give a place of its own with --to.")
    place = None if wanted.prefix is None else path_of(wanted.prefix, str(Path.cwd()))
    if place is not None and lies_in_watched(place.rstrip("/")):
        raise UsageError(f"{one_line(place)} lies in a folder that ingest watches: its files are taken for deliveries.")
    return place
