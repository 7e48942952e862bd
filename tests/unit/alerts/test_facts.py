"""What the legs of the last weeks did, read from their receipts; no older run is read."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from proofsweep.alerts.facts import alerts_of_run, end_of_run, killed_work, recent_probes, recent_runs, work_facts
from proofsweep.alerts.rules import FLOW_OF_OPERATION, Alert, FlowEnd, over_after_end
from proofsweep.domain.exchanges import Call
from proofsweep.domain.operations import OperationKind
from proofsweep.domain.runs import Plan, new_run_id
from proofsweep.queries.status import describe_run
from proofsweep.store import layout
from proofsweep.store.layout import INGEST_FOLDER
from proofsweep.store.lease import Lease, sole_process
from proofsweep.store.legs import Legs
from proofsweep.store.objects import FolderStore
from proofsweep.store.operations import Operations
from proofsweep.store.parts import Results
from proofsweep.store.runs import RunIndex

from ...worlds.ended_runs import answered, end_leg, plan_of_run
from ..ended_operations import call_of, leave_operation, operation_named
from ..left_behind import let_holder_die
from ..passes_of_monitoring import leave_pass

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
MONTH_AGO = NOW - timedelta(days=35)


class CountingStore(FolderStore):
    """Counts what is read."""

    reads = 0

    def read(self, name: str) -> bytes | None:
        """Read, and count it."""
        self.reads += 1
        return super().read(name)


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """An empty store."""
    return Results(CountingStore(tmp_path))


@contextmanager
def reads_of(results: Results) -> Iterator[Callable[[], int]]:
    """Count what is read inside."""
    store = results.store
    assert isinstance(store, CountingStore)
    before = store.reads
    yield lambda: store.reads - before


def at(hours: float) -> datetime:
    """Return an instant so many hours before now."""
    return NOW - timedelta(hours=hours)


def add_run(results: Results, planned: datetime, *, catalog: str = "music", environment: str = "beta") -> Plan:
    """Write a plan."""
    plan = plan_of_run(new_run_id(planned, "aaa"), 4, catalog=catalog, environment=environment)
    results.write_plan(plan)
    return plan


def add_leg(results: Results, plan: Plan, began: datetime, ended: datetime | None, **counts: object) -> int:
    """Claim the next leg of a run; write its receipt unless it never ended."""
    legs = Legs(results, plan.run_id)
    leg = max(legs.numbers(), default=0) + 1
    legs.claim(leg)
    if ended is not None:
        ended_by = counts.pop("ended_by", "complete")
        cells = {"started_at": began, "finished_at": ended, "accepted": 4, "calls": 10} | counts
        legs.write_receipt(leg, {"ended_by": ended_by, "counts": cells})
    return leg


def nights(results: Results, catalog: str | None = "music") -> tuple[datetime | None, datetime | None]:
    """Return the last success and the first run."""
    facts = work_facts(results, "beta", catalog, since=MONTH_AGO, enough=at(36))
    return facts.last_success, facts.first_run


def test_the_last_leg_that_did_its_work_counts(results: Results) -> None:
    """A later leg that an outage ended does not."""
    good = add_run(results, at(60))
    add_leg(results, good, at(60), at(55), ended_by="quota")
    add_leg(results, add_run(results, at(30)), at(30), at(29), ended_by="breaker")

    assert nights(results) == (at(55), at(60))


@pytest.mark.parametrize(("counts", "hours"), [({"accepted": 0, "failed": 4}, 60), ({"accepted": 1, "failed": 3}, 30)])
def test_a_leg_whose_rows_all_failed_did_not_do_its_work(
    results: Results, counts: dict[str, object], hours: int
) -> None:
    """It has an outcome for each row, and no answer."""
    add_leg(results, add_run(results, at(61)), at(61), at(60))
    add_leg(results, add_run(results, at(31)), at(31), at(30), **counts)

    assert nights(results)[0] == at(hours)


def test_a_run_that_was_resumed_late_counts_by_its_end(results: Results) -> None:
    """The newest run is not the one that ended last."""
    old, new = add_run(results, at(200)), add_run(results, at(100))
    add_leg(results, new, at(100), at(90))
    add_leg(results, old, at(50), at(40))

    assert nights(results)[0] == at(40)


def test_other_catalogs_and_environments_do_not_count(results: Results) -> None:
    """Without a catalog, each one of the environment does."""
    add_leg(results, add_run(results, at(10), catalog="deliveries"), at(10), at(9))
    add_leg(results, add_run(results, at(8), environment="production"), at(8), at(7))

    assert nights(results) == (None, None)
    assert nights(results, None) == (at(9), at(10))


def test_what_is_older_than_the_look_back_is_not_read(results: Results) -> None:
    """A store may hold years; the index says which runs are older."""
    for day in range(40, 140):
        add_leg(results, add_run(results, NOW - timedelta(days=day)), at(1_000), at(999))
    newest = add_run(results, at(50))
    RunIndex(results).refreshed()

    with reads_of(results) as reads:
        found = [run.plan for run in recent_runs(results, MONTH_AGO)]

    assert found == [newest]
    assert reads() < 20


def test_a_night_that_is_fine_is_found_in_the_first_run(results: Results) -> None:
    """The usual case reads the index, and no run of eighty."""
    for hours in range(10, 800, 10):
        add_leg(results, add_run(results, at(hours)), at(hours), at(hours - 1), remaining=0)
    RunIndex(results).refreshed()

    with reads_of(results) as reads:
        nights(results)

    assert reads() < 10


def test_a_folder_without_a_plan_is_no_run(results: Results) -> None:
    """Its planning broke off, or a listing lags."""
    results.store.create(layout.shard_name(new_run_id(at(1), "bbb"), 0), b"")

    assert list(recent_runs(results, MONTH_AGO)) == []


def test_only_recent_probes_of_the_environment_are_given(results: Results, tmp_path: Path) -> None:
    """The oldest first, also over midnight."""
    for operation_id, environment in (
        ("20261119T080000Z_000aa", "beta"),
        ("20261119T235500Z_000aa", "beta"),
        ("20261120T000000Z_000aa", "production"),
        ("20261120T000500Z_000aa", "beta"),
    ):
        operation = operation_named(operation_id, "monitoring", environment)
        leave_pass(results, operation_id, environment, [call_of(operation, operation_id, Call.USAGE, 429)])
    now = operation.started_at + timedelta(minutes=5)

    found = recent_probes(results, "beta", now)

    assert [probe.request_id for probe in found] == ["20261119T235500Z_000aa", "20261120T000500Z_000aa"]
    assert {probe.trouble for probe in found} == {"throttled"}
    assert recent_probes(Results(FolderStore(tmp_path / "empty")), "beta", now) == []


EARLY, LATE = "20261121T120000Z_000aa", "20261121T130000Z_000bb"


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
    lease = Lease(Results(results.store.within(INGEST_FOLDER)), "0123456789abcdef")
    with sole_process(lease, facts={"environment": "beta", "folder": "/deliveries"}):
        pass
    ended = found(results)
    lease.claim(2, {"environment": "beta", "folder": "/deliveries"})
    alive = found(results)

    let_holder_die(lease.results, lease.name, 2)

    assert (ended, alive) == ([], [])
    assert [(end.flow, end.subject) for end in found(results)] == [("check-ingest", "/deliveries")]


RUN = "20261120T100000Z_aaaaaa"


def told(results: Results, *outcomes: str, items: int, **counts: str) -> list[Alert]:
    """Let a run's leg end with these rows; give what is told."""
    cells = {"failed": {"reason": "timeout"}, "rejected": {"verdict": "tampered", "reason": "tampered"}}
    plan = plan_of_run(RUN, items, catalog="s3://label/catalog")
    rows = [answered(plan, row, str(row), outcome, **cells.get(outcome, {})) for row, outcome in enumerate(outcomes)]
    end_leg(results, plan, rows, **counts)
    run = describe_run(results, RUN)
    end = end_of_run(results, run, NOW)
    alerts = alerts_of_run(end, run)
    assert not [cause for cause in over_after_end(end) if alerts and alerts[0].cause.startswith(cause)]
    return alerts


def test_rows_that_remain_are_told_with_counts_reasons_and_what_to_do(results: Results) -> None:
    """The message says which run, what its rows are, the head of the records, and where the tables are."""
    (alert,) = told(results, "accepted", "rejected", items=26, ended_by="quota")

    machine, head = Legs(results, RUN).holder(1), Legs(results, RUN).receipt_digest(1)
    assert machine is not None
    assert alert.subject == "proofsweep: the quota is spent or reserved (beta)"
    assert alert.body.splitlines()[2:] == [
        "2 of 26 rows have their outcome:",
        "- 1 `accepted`: accept the credential",
        "- 1 `rejected · tampered`: reject, and ask the supplier for the untouched original delivery",
        f"Head of the records: `{head}`",
        f"Environment `beta`, catalog `s3://label/catalog`, machine `{machine.host}`, 24 rows at risk.",
        "If nobody acts: the next run of the schedule resumes them; nothing is lost, and nothing is paid twice.",
        "To do: nothing, if the rest may wait: the next run resumes it, or `proofsweep resume`.",
        f"Tables: `{results.store.url}`",
    ]


def test_a_finished_run_has_nothing_to_tell(results: Results) -> None:
    """Everything is well, and so it is if files are rejected."""
    assert told(results, "accepted", "rejected", items=2) == []


def test_a_sunset_header_of_a_run_is_told(results: Results) -> None:
    """Also of a run that is well; no row is at risk."""
    (alert,) = told(results, "accepted", items=1, sunset="Sat, 31 Jul 2027 00:00:00 GMT")

    assert alert.kind == "sunset"
    assert "at risk" not in alert.body
