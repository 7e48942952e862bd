"""Work whose process was killed is found by its lease: operations, and passes over watched folders."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from proofsweep.alerts.events import FLOW_OF_OPERATION
from proofsweep.alerts.facts import killed_work
from proofsweep.alerts.rules import FlowEnd
from proofsweep.model.operations import OperationKind
from proofsweep.store.folder_store import FolderStore
from proofsweep.store.lease import Lease, sole_process
from proofsweep.store.operations import Operations
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.watches import ingest_store

from ..ended_operations import leave_operation, operation_named
from ..left_behind import let_holder_die

EARLY, LATE = "20261121T120000Z_000aa", "20261121T130000Z_000bb"


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """An empty store."""
    return Results(FolderStore(tmp_path))


def found(results: Results) -> list[FlowEnd]:
    """Find what was killed in the environment beta since the day before."""
    since = operation_named(EARLY).started_at - timedelta(days=1)
    return list(killed_work(results, "beta", since))


@pytest.mark.parametrize("kind", OperationKind)
def test_an_operation_is_found_when_its_process_is_gone(results: Results, kind: OperationKind) -> None:
    """Not while it works, nor after a later one of its kind."""
    leave_operation(results, operation_named(EARLY, kind), is_killed=True)
    lease = Operations(results).lease(EARLY)
    lease.claim(1)
    alive = found(results)

    let_holder_die(lease.results, EARLY, 1)

    (end,) = found(results)
    assert alive == []
    assert (end.flow, end.state, end.subject) == (FLOW_OF_OPERATION[kind], "Crashed", end.flow)
    leave_operation(results, operation_named(LATE, kind))
    assert found(results) == []


def test_operations_of_elsewhere_or_long_ago_are_not_looked_at(results: Results) -> None:
    """Each environment has its own check."""
    for operation in (operation_named(EARLY, environment="beta"), operation_named("20261001T120000Z_000aa")):
        of_other = replace(operation, environment="production") if operation.operation_id == EARLY else operation
        leave_operation(results, of_other, is_killed=True)
        lease = Operations(results).lease(operation.operation_id)
        lease.claim(1)
        let_holder_die(lease.results, operation.operation_id, 1)

    assert found(results) == []


def test_a_pass_is_found_when_its_process_is_gone(results: Results) -> None:
    """By its folder, until the next pass; one that ended is none."""
    lease = Lease(Results(ingest_store(results.store.url)), "0123456789abcdef")
    with sole_process(lease, facts={"environment": "beta", "folder": "/deliveries"}):
        pass
    ended = found(results)
    lease.claim(2, {"environment": "beta", "folder": "/deliveries"})
    alive = found(results)

    let_holder_die(lease.results, lease.name, 2)

    assert (ended, alive) == ([], [])
    assert [(end.flow, end.subject) for end in found(results)] == [("check-ingest", "/deliveries")]
