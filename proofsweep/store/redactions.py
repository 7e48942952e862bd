"""The redactions of a store: an intent is written before the first change, a receipt after the last."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import asdict
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import TypeAdapter

from proofsweep.model import layout
from proofsweep.model.redaction import KEPT, MARKER, Completed, Redaction
from proofsweep.store.lease import Lease
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.row_digests import row_digests
from proofsweep.store.store import Store, json_bytes, read_document, sha256_hex

_REDACTION, _COMPLETED = TypeAdapter(Redaction), TypeAdapter(Completed)
_BUSY = "A redaction is at work in this results store already: {holder}."


def redaction_lease(results: Results, clock: Callable[[], datetime]) -> Lease:
    """Return the lease of redactions: no leg begins while it is held, and none is claimed while a leg is alive."""
    return Lease(Results(results.store.within("_redacting")), "redactions", clock, busy=_BUSY)


def redactions_of(store: Store) -> Iterator[Redaction]:
    """Read the intents of all redactions, the oldest first; ResultsError if one is damaged or cannot be read."""
    for name in store.names(layout.REDACTED_FOLDER):
        if name.endswith("-intent.json"):
            yield read_document(store, name, _REDACTION)


def intent_digest(store: Store, redaction: Redaction) -> str:
    """Return the hex sha256 of an intent in the store."""
    return sha256_hex(store.read(layout.redaction_intent_name(redaction.number)) or b"")


def completion_of(store: Store, redaction: Redaction) -> Completed | None:
    """Return how a redaction ended, None if it did not; ResultsError if its receipt is damaged."""
    name = layout.redaction_receipt_name(redaction.number)
    return None if store.read(name) is None else read_document(store, name, _COMPLETED)


def write_intent(store: Store, redaction: Redaction) -> None:
    """Write what will be removed; NameTaken if another process redacts at the same moment."""
    store.create(layout.redaction_intent_name(redaction.number), json_bytes(redaction.document()))


def write_completion(store: Store, redaction: Redaction, completed: Completed) -> None:
    """Write that all is removed; NameTaken if another process completed the same redaction."""
    store.create(layout.redaction_receipt_name(redaction.number), json_bytes(asdict(completed)))


def redacted(table: pa.Table, folder: str, indexes: Collection[int]) -> pa.Table:
    """Take the content from the rows at some indexes; the other rows and the metadata stay as they are."""
    chosen = set(indexes)
    mask = pa.array([index in chosen for index in range(table.num_rows)], pa.bool_())
    for index, field in enumerate(table.schema):
        if field.name not in KEPT[folder]:
            marker = MARKER.encode() if pa.types.is_binary(field.type) else MARKER
            replacement = pa.scalar(None if field.nullable else marker, field.type)
            table = table.set_column(index, field, pc.if_else(mask, replacement, table[field.name]))
    return table


def recorded_digests(table: pa.Table, name: str, redactions: Iterable[Redaction]) -> list[bytes]:
    """Return the digest of each row of an object as it was recorded: of redacted rows, as their redactions note it."""
    digests = row_digests(table)
    for each in (each for redaction in redactions for each in redaction.objects if each.name == name):
        for index, digest in each.rows.items():
            digests[index] = bytes.fromhex(digest)
    return digests
