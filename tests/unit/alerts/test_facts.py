"""What the legs of the last weeks did, read from their receipts; no older run is read."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from proofsweep.alerts.facts import recent_runs, work_facts
from proofsweep.model import layout
from proofsweep.model.runs import Plan, new_run_id
from proofsweep.store.folder_store import FolderStore
from proofsweep.store.legs import Legs
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.run_index import RunIndex

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
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
