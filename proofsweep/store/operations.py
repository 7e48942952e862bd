"""Operations: runs of another kind than verifying a catalog. What they have left in a store, as readers ask for it."""

from collections.abc import Mapping

import pyarrow.compute as pc

from proofsweep.domain.endings import EndedBy
from proofsweep.domain.operations import Operation
from proofsweep.store import layout
from proofsweep.store.legs import Legs
from proofsweep.store.objects import damaged, json_bytes, read_object
from proofsweep.store.parts import Results

_RECOVERED = ["recovered_to", "sidecar_sha256"]


class Operations:
    def __init__(self, results: Results) -> None:
        self.results = results

    def legs(self, operation_id: str) -> Legs:
        return Legs(self.results.store, operation_id)

    def ids(self, kind: str = "") -> list[str]:
        """List the operations of all kinds, or of one, the oldest first."""
        named = ((each, layout.kind_of(each)) for each in self.results.store.folders("_runs"))
        return [each for each, its_kind in named if its_kind and kind in {"", its_kind}]

    def write_plan(self, operation: Operation, facts: Mapping[str, object]) -> None:
        """Write what an operation will do; NameTaken if its ID is taken."""
        document = {**operation.document(), **facts}
        self.results.store.create(layout.plan_name(operation.operation_id), json_bytes(document))

    def plan(self, operation_id: str) -> dict[str, object] | None:
        """Read what an operation was to do; None if there is no such one. ResultsError if it is damaged."""
        is_one = layout.kind_of(operation_id)
        return read_object(self.results.store, layout.plan_name(operation_id)) if is_one else None

    def operation(self, operation_id: str) -> Operation | None:
        """Read an operation; None if there is no such one. Raises ResultsError: what it wrote is damaged."""
        document = self.plan(operation_id)
        try:
            return None if document is None else Operation.of(document)
        except (KeyError, TypeError, ValueError) as damage:
            raise damaged(self.results.store, layout.plan_name(operation_id), "it is not whole") from damage

    def receipt(self, operation_id: str) -> dict[str, object] | None:
        """Read how the last leg of an operation ended; None if it is at work, was killed, or none began."""
        legs = self.legs(operation_id)
        return legs.receipt(legs.last())

    def is_complete(self, operation_id: str) -> bool:
        legs = self.legs(operation_id)
        endings = ((legs.receipt(number) or {}).get("ended_by") for number in legs.numbers())
        return any(ended_by == EndedBy.COMPLETE for ended_by in endings)


def recovered_sidecars(results: Results) -> frozenset[tuple[str, str]]:
    """Return the location and hex sha256 of each sidecar that a recovery has written."""
    table = results.table("recoveries", results.all_parts("recoveries"), _RECOVERED)
    written = table.filter(pc.is_valid(table["recovered_to"]))
    return frozenset(zip(*(written[name].to_pylist() for name in _RECOVERED), strict=True))
