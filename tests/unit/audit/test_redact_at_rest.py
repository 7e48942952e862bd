"""Nobody may be at work who may write of the item."""

import pytest

from proofsweep.audit.redact import runs_at_rest
from proofsweep.errors import RunIsActive
from proofsweep.model.ingest import Disposition, PastAnswer
from proofsweep.model.items import WorkItem
from proofsweep.model.moves import FileMove, Move, MovedItem
from proofsweep.model.operations import OperationKind
from proofsweep.store.lease import sole_process
from proofsweep.store.legs import Legs
from proofsweep.store.operations import Operations
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.watches import Watch, ingest_store

from ...worlds.audited_store import NEWEST, NOW
from ..ended_operations import leave_operation, operation_named

YESTERDAY = "20261119T120000Z_000aa"


@pytest.mark.parametrize("kind", [OperationKind.INVENTORY, OperationKind.INTERPRETATIONS, OperationKind.RECOVERY])
def test_an_operation_at_work_stands_in_the_way(results: Results, kind: OperationKind) -> None:
    """Its lease says so; one whose process was killed does not."""
    leave_operation(results, operation_named(YESTERDAY, kind), is_killed=True)
    assert NEWEST in runs_at_rest(results, lambda: NOW)

    at_work = sole_process(Operations(results).lease(YESTERDAY))
    with at_work, pytest.raises(RunIsActive, match=f"^The {kind} {YESTERDAY} is at work"):
        runs_at_rest(results, lambda: NOW)


@pytest.mark.parametrize(("kind", "is_killed"), [(OperationKind.ERASURE, True), (OperationKind.INVENTORY, False)])
def test_others_do_not(results: Results, kind: OperationKind, is_killed: bool) -> None:
    """One that has ended, or that writes nothing of items."""
    leave_operation(results, operation_named(YESTERDAY, kind), is_killed=is_killed)

    with sole_process(Operations(results).lease(YESTERDAY)):
        assert NEWEST in runs_at_rest(results, lambda: NOW)


def test_a_watched_folder_stands_in_the_way(results: Results) -> None:
    """Its passes write what they remember of files."""
    claims = Legs(Results(ingest_store(results.store.url)), "0123456789abcdef")
    claims.claim(1)
    with pytest.raises(RunIsActive, match=r"^A folder is being watched .*: stop proofsweep ingest, then redact\.$"):
        runs_at_rest(results, lambda: NOW)

    claims.write_receipt(1, {})
    watch, item = Watch(claims.results.store, claims.run_id), WorkItem(manifest_row=0, item_id="i", audio="/in/a.wav")
    answer = PastAnswer(**dict.fromkeys(PastAnswer.__slots__))  # type: ignore[arg-type]  # what it says does not matter
    moved = MovedItem(item=item, answer=answer, disposition=Disposition.ACCEPTED)
    file = FileMove(source="/in/a.wav", target="/ok/a.wav", sha256="aa")
    watch.keep_moves(None, [Move(files=(file,), items=(moved,))])
    with pytest.raises(RunIsActive, match="has not ended its moves"):
        runs_at_rest(results, lambda: NOW)
    watch.keep_moves(None, [])

    assert NEWEST in runs_at_rest(results, lambda: NOW)
