"""What the legs of the last weeks did, read from their receipts; no older run is read."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from proofsweep.alerts.facts import calls_of_day, night_facts, recent_runs
from proofsweep.model import layout
from proofsweep.model.exchanges import Call, Failure
from proofsweep.model.runs import Plan, new_run_id
from proofsweep.store.folder_store import FolderStore
from proofsweep.store.legs import Legs
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.run_index import RunIndex

from ..ended_operations import call_of, leave_operation, operation_named
from ..passes_of_monitoring import leave_pass, leave_passes

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
DAY = date(2026, 11, 19)
MONTH_AGO = NOW - timedelta(days=35)
URL = "https://partner.example/v1"


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
    plan = Plan(
        run_id=new_run_id(planned, "aaa"),
        created_at=planned.isoformat(),
        environment=environment,
        base_url=URL,
        catalog=catalog,
        catalog_kind="folder",
        catalog_digest="0",
        items=4,
        eligible=4,
        pairs=0,
        audio_bytes=4,
        shard_items=1000,
        shards=1,
    )
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
    facts = night_facts(results, "beta", catalog, since=MONTH_AGO, enough=at(36))
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
    RunIndex(results).rebuild()

    with reads_of(results) as reads:
        found = [run.plan for run in recent_runs(results, MONTH_AGO)]

    assert found == [newest]
    assert reads() < 20


def test_a_night_that_is_fine_is_found_in_the_first_run(results: Results) -> None:
    """The usual case reads the index, and no run of eighty."""
    for hours in range(10, 800, 10):
        add_leg(results, add_run(results, at(hours)), at(hours), at(hours - 1), remaining=0)
    RunIndex(results).rebuild()

    with reads_of(results) as reads:
        nights(results)

    assert reads() < 10


def test_a_folder_without_a_plan_is_no_run(results: Results) -> None:
    """Its planning broke off, or a listing lags."""
    results.store.create(layout.shard_name(new_run_id(at(1), "bbb"), 0), b"")

    assert list(recent_runs(results, MONTH_AGO)) == []


def test_calls_of_a_day_are_those_of_the_legs_within_it(results: Results) -> None:
    """Yesterday lasts from 36 to 12 hours ago; a leg of today and one of the day before are not in it."""
    for begin, calls in ((60, 1), (30, 20), (20, 300), (11, 4_000)):
        add_leg(results, add_run(results, at(begin)), at(begin), at(begin - 1), calls=calls)

    assert calls_of_day(results, URL, DAY, MONTH_AGO) == 320
    assert calls_of_day(results, "https://other.example/v1", DAY, MONTH_AGO) == 0


def test_a_leg_over_midnight_is_counted_by_its_exchanges(results: Results) -> None:
    """Only keyed calls that were sent, and only those of the day."""
    plan = add_run(results, at(13))
    leg = add_leg(results, plan, at(13), at(11), calls=999)
    before, after = at(12.5), at(11.5)
    rows = [("verify", before, 10), ("uploads", before, 0), ("slot", before, 10), ("verify", after, 10)]
    rows.append(("verify", before, None))  # type: ignore[arg-type]  # never sent
    results.create_part(
        layout.exchanges_name(plan.run_id, plan.run_date, 0, leg),
        "exchanges",
        [
            {"run_id": plan.run_id, "leg": leg, "call": call, "attempt": 1, "started_at": began, "elapsed_ms": 1.0}
            | {"bytes_sent": sent}
            for call, began, sent in rows
        ],
    )

    assert calls_of_day(results, URL, DAY, MONTH_AGO) == 2


@pytest.mark.parametrize(("planned", "calls"), [(5, 0), (20, None)])
def test_a_leg_that_has_not_ended_leaves_the_calls_unknown(results: Results, planned: float, calls: int | None) -> None:
    """They are in its journal; but a run that was planned after the day has none of that day."""
    add_leg(results, add_run(results, at(planned)), at(planned), None)

    assert calls_of_day(results, URL, DAY, MONTH_AGO) == calls


def test_keyed_probes_of_monitoring_count_too(results: Results) -> None:
    """Those of the day that reached this service; GET /health needs no key."""
    leave_passes(results, datetime(2026, 11, 19, 22, tzinfo=UTC), 36)
    broken = operation_named("20261119T130000Z_000bb", "monitoring")
    unsent = replace(call_of(broken, "r-1", Call.USAGE), failure=Failure.CONNECTION)
    leave_pass(results, broken.operation_id, probes=[unsent])

    assert calls_of_day(results, URL, DAY, MONTH_AGO) == 24
    assert calls_of_day(results, "https://other.example/v1", DAY, MONTH_AGO) == 0


def test_calls_of_operations_count_too(results: Results) -> None:
    """Those of the day, to this service; an operation of an earlier week is not read."""
    for operation_id in ("20261112T120000Z_000aa", "20261119T120000Z_000aa", "20261120T100000Z_000aa"):
        operation = operation_named(operation_id)
        leave_operation(results, operation, [call_of(operation, "r-1"), call_of(operation, "r-2")])
    killed = operation_named("20261119T130000Z_000aa")
    leave_operation(results, killed, [call_of(killed, "r-3")], is_killed=True)

    with reads_of(results) as reads:
        assert calls_of_day(results, URL, DAY, MONTH_AGO) == 2
    assert reads() <= 3
    assert calls_of_day(results, "https://other.example/v1", DAY, MONTH_AGO) == 0
