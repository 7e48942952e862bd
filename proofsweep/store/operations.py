"""Operations: runs of another kind than verifying a catalog. What they have left in a store, as readers ask for it."""

from dataclasses import asdict

import pyarrow.compute as pc
from pydantic import TypeAdapter

from proofsweep.domain.endings import EndedBy
from proofsweep.domain.operations import Operation
from proofsweep.store import layout
from proofsweep.store.legs import Legs
from proofsweep.store.objects import Store, damaged, json_bytes
from proofsweep.store.parts import Results

_OPERATION = TypeAdapter(Operation)
_RECOVERED = ["recovered_to", "sidecar_sha256"]


def write_operation(store: Store, operation: Operation) -> None:
    """Write what an operation will do; NameTaken if its ID is taken."""
    store.create(layout.plan_name(operation.operation_id), json_bytes(asdict(operation)))


def operation_ids(store: Store, kind: str = "") -> list[str]:
    """List the operations of all kinds, or of one, the oldest first."""
    named = ((each, layout.kind_of(each)) for each in store.folders("_runs"))
    return [each for each, its_kind in named if its_kind and kind in {"", its_kind}]


def operation_of(store: Store, operation_id: str) -> Operation | None:
    """Read an operation; None if there is no such one. ResultsError if it is damaged."""
    name = layout.plan_name(operation_id)
    content = store.read(name) if layout.kind_of(operation_id) else None
    try:
        return None if content is None else _OPERATION.validate_json(content)
    except ValueError as damage:
        raise damaged(store, name, "it is not whole") from damage


def is_complete(store: Store, operation_id: str) -> bool:
    legs = Legs(store, operation_id)
    return any((legs.receipt(number) or {}).get("ended_by") == EndedBy.COMPLETE for number in legs.numbers())


def recovered_sidecars(results: Results) -> frozenset[tuple[str, str]]:
    """Return the location and hex sha256 of each sidecar that a recovery has written."""
    table = results.table("recoveries", results.all_parts("recoveries"), _RECOVERED)
    written = table.filter(pc.is_valid(table["recovered_to"]))
    return frozenset(zip(*(written[name].to_pylist() for name in _RECOVERED), strict=True))
