"""Take the content of one item out of a results store, so that an audit still passes.

(1) an intent names all objects that change, with digests of rows but no content, (2) each object is written anew, (3)
what is derived is made anew, and the old files are deleted, (4) a receipt names the new digests. If it breaks off, the
next redaction completes it first.
"""

import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from functools import partial

from proofsweep import __version__
from proofsweep.audit.compact import compact
from proofsweep.audit.rows_of_item import (
    Found,
    listed_rows_of,
    planned_rows_of_item,
    read_object,
    rows_of_item,
)
from proofsweep.background import some_at_once
from proofsweep.errors import ResultsError, RunIsActive
from proofsweep.model import layout
from proofsweep.model.operations import OperationKind
from proofsweep.model.redaction import MARKER, Completed, RedactedObject, Redaction
from proofsweep.model.runs import new_run_id
from proofsweep.store.lease import Lease, sole_process
from proofsweep.store.legs import Legs
from proofsweep.store.operations import Operations
from proofsweep.store.plans_and_parts import Results, parquet_of
from proofsweep.store.receipts import link_to, newest_receipts
from proofsweep.store.redactions import (
    completion_of,
    intent_digest,
    recorded_digests,
    redacted,
    redaction_lease,
    redactions_of,
    write_completion,
    write_intent,
)
from proofsweep.store.row_digests import ROOT_KEY, root_of
from proofsweep.store.store import REQUESTS_AT_ONCE, sha256_hex
from proofsweep.store.watches import Watch, forget_files, ingest_store, watched_ids
from proofsweep.verify.leg.leg_session import settle_last_leg

_OF_ITEMS = (OperationKind.INVENTORY, OperationKind.INTERPRETATIONS, OperationKind.RECOVERY)

# Older operations are not looked at. Chosen: an inventory of a million proofs takes hours.
_LONGEST_OPERATION = timedelta(days=1)


def runs_at_rest(results: Results, clock: Callable[[], datetime]) -> list[str]:
    """List the runs of a store in which nobody is at work; RunIsActive if somebody is."""
    run_ids = results.run_ids()
    for run_id in run_ids:
        legs = Legs(results, run_id)
        if (leg := legs.last()) and legs.is_active(leg):
            raise RunIsActive(f"Leg {leg} of run {run_id} is at work: redact when no run is.")
    watches = Results(ingest_store(results.store.url))
    for watch in watched_ids(watches.store):
        if Lease(watches, watch).active_claim() is not None:
            raise RunIsActive("A folder is being watched with this results store: stop proofsweep ingest, then redact.")
        if Watch(watches.store, watch).moves()[1]:
            raise RunIsActive("A pass over a watched folder has not ended its moves: make another pass, then redact.")
    operations, since = Operations(results), new_run_id(clock() - _LONGEST_OPERATION, "")
    at_work = partial(_at_work, operations)
    for kind, operation_id in filter(None, some_at_once(operations.ids(since), at_work, REQUESTS_AT_ONCE)):
        raise RunIsActive(f"The {kind} {operation_id} is at work: redact when it has ended.")
    return run_ids


def _at_work(operations: Operations, operation_id: str) -> tuple[str, str] | None:
    """Return the kind of an operation that writes of items and is worked on."""
    lease = operations.lease(operation_id)
    if operations.receipt(operation_id) is not None or not lease.last() or not lease.is_active(lease.last()):
        return None
    operation = operations.operation(operation_id)
    return (operation.kind, operation_id) if operation is not None and operation.kind in _OF_ITEMS else None


Clock = Callable[[], datetime]


def redact_alone(
    results: Results, item: str, clock: Clock, end_killed_recoveries: Callable[[], object]
) -> list[Redaction]:
    """Redact an item while no other redaction is at work; first, what killed recoveries noted is put into its table."""
    with sole_process(redaction_lease(results, clock)):
        end_killed_recoveries()
        return redact(results, item, clock)


def redact(results: Results, item: str, clock: Clock) -> list[Redaction]:
    """Redact an item by its ID or its location; give the redactions that were completed, interrupted ones first.

    RunIsActive if somebody is at work, who may write what is removed; ResultsError if there is no such item, or a run
    still has to verify it.
    """
    if item == MARKER:
        raise ResultsError(f"{MARKER!r} marks rows without content; it names no item.")
    run_ids = runs_at_rest(results, clock)
    redactions = list(redactions_of(results.store))
    begun = [redaction for redaction in redactions if completion_of(results.store, redaction) is None]
    for redaction in begun:
        _carry_out(results, redaction, clock)
    found = _rows_of(results, item, run_ids, clock)
    if not found:
        if begun:
            return begun
        raise ResultsError(f"There is no row of an item {item!r} in {results.store.url}.")
    new = Redaction(
        number=len(redactions) + 1,
        decided_at=clock().isoformat(timespec="seconds"),
        objects=tuple(_object(results, each, redactions) for each in found),
        proofsweep_version=__version__,
    )
    write_intent(results.store, new)  # (1)
    _carry_out(results, new, clock)
    return [*begun, new]


def _rows_of(results: Results, item: str, run_ids: Sequence[str], clock: Clock) -> list[Found]:
    """Find an item in planned items first, settle the legs of these runs that died, then find it in the tables."""
    planned = list(planned_rows_of_item(results, item, run_ids))
    for run_id in dict.fromkeys(each.name.split("/")[1] for each in planned):
        settle_last_leg(results, results.plan(run_id), clock)
    answered = list(rows_of_item(results, item))
    _check_nothing_remains(results, planned, answered)
    found = [*answered, *planned]
    return [*found, *listed_rows_of(results, found, run_ids)]


def _check_nothing_remains(results: Results, planned: Sequence[Found], answered: Sequence[Found]) -> None:
    """Refuse an item that a run has not verified yet: its location is needed for that."""
    rows = {row for found in answered if found.name.startswith("verdicts/") for row in _numbers(results, found)}
    for found in planned:
        for run_id, row in _numbers(results, found):
            if (run_id, row) not in rows:
                raise ResultsError(
                    f"Row {row} of run {run_id} is this item, and has no answer yet: finish the run first "
                    f"(proofsweep resume {run_id})."
                )


def _numbers(results: Results, found: Found) -> Iterator[tuple[str, int]]:
    run_id = found.name.split("/")[1] if found.name.startswith("_runs/") else layout.run_of(found.name)
    rows = read_object(results, found.name, lambda _: ["manifest_row"])["manifest_row"]
    return ((run_id, int(str(rows[index]))) for index in found.indexes)


def _object(results: Results, found: Found, before: Sequence[Redaction]) -> RedactedObject:
    """Note the digests of the rows that go; random ones for rows without a salt."""
    table, content = read_object(results, found.name), results.store.read(found.name) or b""
    leaves = recorded_digests(table, found.name, before)
    is_rooted = ROOT_KEY in (table.schema.metadata or {})
    if not is_rooted:
        for index in found.indexes:
            leaves[index] = secrets.token_bytes(32)
    return RedactedObject(
        name=found.name,
        sha256=sha256_hex(content),
        rows={index: leaves[index].hex() for index in found.indexes},
        merkle_root=None if is_rooted else root_of(leaves).hex(),
    )


def _carry_out(results: Results, redaction: Redaction, clock: Clock) -> None:
    store = results.store
    for each in redaction.objects:
        if store.read(each.name) is None:
            continue  # a pruning deleted it meanwhile
        table = redacted(read_object(results, each.name), each.name.partition("/")[0], each.rows)
        store.replace(each.name, parquet_of(table))  # (2)
    _derive_anew(results)  # (3)
    contents = {each.name: store.read(each.name) for each in redaction.objects}
    completed = Completed(
        intent_sha256=intent_digest(store, redaction),
        completed_at=clock().isoformat(timespec="seconds"),
        objects={name: sha256_hex(content) for name, content in contents.items() if content is not None},
        earlier_receipts=(
            *link_to(store, [layout.redaction_intent_name(redaction.number)]),
            *map(asdict, newest_receipts(store)),
        ),
    )
    write_completion(store, redaction, completed)  # (4)


def _derive_anew(results: Results) -> None:
    """Make index and snapshot from the tables alone: no old file of them may stay, since it has the content."""
    store = results.store
    forget_files(store)
    for name in store.names(layout.INDEX_FOLDER):
        store.delete(name)
    folders = [layout.SNAPSHOT_FOLDER, *(f"{layout.SNAPSHOT_FOLDER}/{each}" for each in store.folders("_snapshot"))]
    old = [name for folder in folders for name in store.names(folder)]
    compact(results)
    for name in old:
        store.delete(name)
