"""The sidecars that recoveries have written are known by location and digest."""

from pathlib import Path

from proofsweep.store.folder_store import FolderStore
from proofsweep.store.operations import recovered_sidecars
from proofsweep.store.plans_and_parts import Results

from ..ended_operations import leave_operation, operation_named
from ..scripted_service import NOW


def test_only_what_was_written_counts(tmp_path: Path) -> None:
    """A store without a recovery has none."""
    results = Results(FolderStore(tmp_path))
    before = recovered_sidecars(results)
    rows = [
        dict.fromkeys(("proof_id", "item_id", "audio"), "x")
        | {"outcome": outcome, "recovered_to": place, "sidecar_sha256": "cc", "acted_at": NOW}
        for outcome, place in (("recovered", "/m/a"), ("same", None), ("differs", "/m/b.recovered"))
    ]
    leave_operation(results, operation_named("20261121T120000Z_000aa", "recovery"), rows={"recoveries": rows})

    assert before == frozenset()
    assert recovered_sidecars(results) == {("/m/a", "cc"), ("/m/b.recovered", "cc")}
