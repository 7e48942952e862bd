"""Operations on proofs, wired."""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from proofsweep.answers.views.connection import opened
from proofsweep.audit.redact import redact
from proofsweep.errors import ConfigError, ResultsError, RunIsActive, RunMustStop, UsageError
from proofsweep.files.files import Files
from proofsweep.files.locations import one_line, path_of
from proofsweep.files.moves import Moves
from proofsweep.model.operations import OperationKind
from proofsweep.model.proofs import (
    Erasure,
    Inventory,
    ProofList,
    Recovered,
    RecoveryRequest,
    cells_of,
    counts_of,
    proof_list,
)
from proofsweep.model.redaction import Redaction
from proofsweep.model.tables import erasures as table
from proofsweep.model.tables import recoveries
from proofsweep.operations.call_budget import OutageGuard
from proofsweep.operations.erase_proofs import EraseProofs
from proofsweep.operations.operation_log import KilledOperations
from proofsweep.operations.reconcile import compared_masters, take_inventory
from proofsweep.operations.recover_sidecars import SidecarRecovery, proven_items
from proofsweep.settings import Settings
from proofsweep.store.lease import Lease, sole_process
from proofsweep.store.operations import OperationJournals, Operations
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.redactions import redaction_lease
from proofsweep.store.watches import ingest_store, is_watched, watched_ids
from proofsweep.wiring.engines import ReadBlock, utc_now
from proofsweep.wiring.operations import OperationWork, call_budget, operation_begun
from proofsweep.wiring.stores import results_for

# Items that a line names. Chosen: a line of a log.
_MOST_NAMED = 10


def inventory_proofs(settings: Settings, read_block: ReadBlock | None = None) -> Inventory:
    """List all proofs, and reconcile them with the newest answers of the results store."""
    with operation_begun(settings, OperationKind.INVENTORY, read_block) as work:
        call_budget(work, settings)
        found = take_inventory(work.partner, work.results, work.log)
        work.counts.update({**found.states, "unnamed": found.unnamed, "problem": found.problem})
    return found


def recover_sidecars(settings: Settings, wanted: RecoveryRequest, read_block: ReadBlock | None = None) -> Recovered:
    """Compare the sidecars of items with a proof with the sealed ones, and write those that are missing."""
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
    """Return how the assets that a run has verified agree with their masters; None if the list gave no digest."""
    same, other = masters_of(settings, run_id)
    if not same and not other:
        return None
    named = f": {', '.join(other[:_MOST_NAMED])}" if other else ""
    return f"{same:,} assets are the masters, {len(other):,} are not{named}"


def masters_of(settings: Settings, run_id: str) -> tuple[int, list[str]]:
    """Count the assets of a run that are their masters, and name the items whose asset is not."""
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
    """Return what says whether a location lies in a folder that was ever watched with the results store."""
    results, environments = results_for(settings), {settings.service.environment}
    if ids := frozenset(watched_ids(ingest_store(results.store.url))):
        with opened(results, "all", with_tags=False) as store:
            environments.update(store.environments)
    return partial(is_watched, ids=ids, environments=environments)


def _place_of(settings: Settings, wanted: RecoveryRequest, lies_in_watched: Callable[[str], bool]) -> str | None:
    """Return the place to write below, before anything is called; None for beside the audio."""
    if settings.service.sidecar_field is None:
        raise ConfigError("The sidecar's wire name is not set: ask the partner for it and set service.sidecar_field.")
    if wanted.with_one_files and wanted.prefix is None:
        raise UsageError("A sidecar beside a one-file WAV would make it a pair; give a place of its own with --to.")
    place = None if wanted.prefix is None else path_of(wanted.prefix, str(Path.cwd()))
    if place is not None and lies_in_watched(place.rstrip("/")):
        raise UsageError(f"{one_line(place)} lies in a folder that ingest watches: its files are taken for deliveries.")
    return place


_BUSY = "Another process erases proofs with this results store; wait until it has ended."


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureReport:
    """What became of a list."""

    operation_id: str
    erasures: Sequence[Erasure]  # of the proofs that were asked for
    not_asked: int  # how many were not
    recovered: int  # answers of killed erasures that are in the table only now
    stopped: RunMustStop | None = None  # why not all were asked for


def read_proof_list(proof_ids: Sequence[str], file: Path | None) -> ProofList:
    """Read the IDs that are named, and those in a file: one a line, or the column `proof_id` of a CSV file.

    UsageError if the file cannot be read, an ID cannot be one, or there is none.
    """
    named = [(f"ID {number} of the command", proof_id) for number, proof_id in enumerate(proof_ids, start=1)]
    if file is None:
        return proof_list(named)
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            lines = stream.readlines()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"{file} cannot be read ({why}); nothing was erased.") from error
    return proof_list([*named, *cells_of(lines, str(file))])


def names_of(settings: Settings, wanted: ProofList) -> dict[str, str]:
    """Return the files of proofs, as the newest row of `verdicts` that names a proof says it."""
    query = (
        "SELECT proof_id, arg_max(coalesce(relative_path, audio), finished_at) FROM verdicts "
        "SEMI JOIN (SELECT unnest(?) AS proof_id) USING (proof_id) GROUP BY proof_id"
    )
    with suppress(ResultsError), opened(results_for(settings), settings.service.environment, with_tags=False) as store:
        return dict(store.connection.execute(query, [list(wanted.proof_ids)]).fetchall())
    return {}


def erase_proofs(
    settings: Settings,
    wanted: ProofList,
    read_block: ReadBlock | None,
    told: Callable[[Erasure], object] = lambda _erasure: None,
) -> ErasureReport:
    """Erase the proofs of a list for good, one by one, and call `told` with each; RunIsActive if another does."""
    results = results_for(settings)
    store = results.store.within("_erasing")
    journals = OperationJournals(store, table.COLUMNS)
    killed = killed_erasures(results, journals)
    erasures: list[Erasure] = []
    stopped, operation_id = None, ""
    with sole_process(Lease(Results(store), "erasures", utc_now, busy=_BUSY)):
        recovered = sum(len(killed.end(each)) for each in journals.open())
        intent = {"proofs": len(wanted.proof_ids), "list_sha256": wanted.sha256}
        try:
            with operation_begun(settings, OperationKind.ERASURE, read_block, intent=intent) as work:
                operation_id = work.log.operation.operation_id
                _erase(work, journals, wanted, [erasures.append, told])
        except RunMustStop as stop:
            stopped = stop
        journals.delete(operation_id)
    return ErasureReport(
        operation_id=operation_id,
        erasures=erasures,
        not_asked=len(wanted.proof_ids) - len(erasures),
        recovered=recovered,
        stopped=stopped,
    )


def killed_erasures(results: Results, journals: OperationJournals) -> KilledOperations:
    """Return what puts the answers of killed erasures into the table."""
    return KilledOperations(
        journals=journals,
        operations=Operations(results),
        clock=utc_now,
        table="erasures",
        key="proof_id",
        counts_of=counts_of,
    )


def _erase(
    work: OperationWork, journals: OperationJournals, wanted: ProofList, hearers: Sequence[Callable[[Erasure], object]]
) -> None:
    erasures: list[Erasure] = []
    try:
        for erasure in EraseProofs(partner=work.partner, log=work.log, journals=journals, clock=utc_now).erase(wanted):
            erasures.append(erasure)
            for hear in hearers:
                hear(erasure)
    finally:
        work.counts.update(counts_of(each.row() for each in erasures))


def redact_item(results: Results, item: str) -> list[Redaction]:
    """Put what killed recoveries noted into the table `recoveries`, then redact an item in all tables.

    RunIsActive if somebody is at work in the store; ResultsError if there is no such item, or the store cannot be used.
    """
    with sole_process(redaction_lease(results, utc_now)):
        killed = killed_recoveries(results, Files())
        killed.end_all()
        for operation_id in killed.journals.open():
            raise RunIsActive(
                f"The recovery {operation_id} is at work, or was killed and its sidecars cannot be read now: redact "
                "once it has ended."
            )
        return redact(results, item, utc_now)
