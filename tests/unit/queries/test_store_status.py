"""How a store stands comes from what runs have left in it."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from proofsweep.domain.exchanges import AnswerHeaders, Call
from proofsweep.domain.runs import Plan
from proofsweep.queries import store_status as module
from proofsweep.queries.status import describe_run, legs_of_store
from proofsweep.queries.store_status import StoreStatus, store_status
from proofsweep.results import ResultsStore
from proofsweep.store.heartbeat import OpenLeg
from proofsweep.store.journal import Journal
from proofsweep.store.layout import heartbeat_name, items_name
from proofsweep.store.parts import ITEMS, Results, parquet_of
from proofsweep.store.runs import Runs
from proofsweep.verify.repair import end_dead_legs

from ...worlds.core import StoredRun
from ...worlds.ended_runs import answered, end_leg, exchange, plan_of_run
from ..ended_operations import call_of, operation_named
from ..left_behind import write_journal
from ..passes_of_monitoring import leave_pass

NOW = datetime.now(UTC).replace(microsecond=0)
ACME = [f"/acme/{number}.wav" for number in range(4)]


def plan_ago(ago: timedelta, tail: str, **facts: object) -> Plan:
    return plan_of_run(f"{NOW - ago:%Y%m%dT%H%M%SZ}_000{tail}", **facts)  # type: ignore[arg-type]  # the test's own words


def write_listed(results: Results, plan: Plan, names: Sequence[str]) -> None:
    cells = [{"manifest_row": row, "item_id": name, "audio": f"/c/{name}".encode()} for row, name in enumerate(names)]
    results.store.create(items_name(plan.run_id, 0), parquet_of(pa.Table.from_pylist(cells, schema=ITEMS)))


@pytest.fixture
def results(results: Results) -> Results:
    """A store: a night of acme has ended yesterday, and two runs of borealis have no end."""
    night = plan_ago(timedelta(days=1), "aaaaaa", items=4, environment="acme", catalog="/acme")
    write_listed(results, night, ACME)
    rows = [answered(night, row, ACME[row], word) for row, word in enumerate(("accepted", "rejected", "failed"))]
    ended = (NOW - timedelta(hours=23)).isoformat()
    end_leg(results, night, rows, key_fingerprint="abcdef012345", finished_at=ended, calls=700, quota_after=5_000)
    for tail, catalog in (("bbbbbb", "/alive"), ("cccccc", "/dead")):
        plan = plan_ago(timedelta(minutes=5), tail, items=20, environment="borealis", catalog=catalog)
        run = StoredRun(results, plan)
        run.write_plan()
        run.take()
        run.beat(finished_before=0, counts={"accepted": 7}, rate=2.0, seconds_left=6.5, quota_left=90)
        if catalog == "/dead":
            name = heartbeat_name(plan.run_id, 1)
            sign = json.loads(results.store.read(name) or b"{}")
            results.store.replace(name, json.dumps(sign | {"at": "2020-01-01T00:00:00+00:00", "boot": "b"}).encode())
    return results


@pytest.fixture
def found(results: Results) -> StoreStatus:
    return store_status(results, NOW)


def test_a_run_that_begins_meanwhile_hides_no_counts(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its listing is the newest one, and the status knows only the runs before it."""
    began = plan_ago(timedelta(minutes=1), "dddddd", items=4, environment="acme", catalog="/acme")

    def legs_after_another_began(results: Results, runs: Runs) -> list[OpenLeg]:
        write_listed(results, began, ACME)
        results.write_plan(began)
        return legs_of_store(results, runs)

    monkeypatch.setattr(module, "legs_of_store", legs_after_another_began)
    acme = next(each for each in store_status(results, NOW).catalogs if each.catalog == "/acme")

    assert (acme.counts["files"], acme.counts["accepted"]) == (4, 1)


def test_a_catalog_has_its_coverage_and_its_last_run(found: StoreStatus) -> None:
    """A file that failed, and one that has no row yet, remain; what was never listed whole has no counts."""
    acme, alive, dead = sorted(found.catalogs, key=lambda each: each.catalog)

    counts = ("files", "covered", "remaining", "accepted", "rejected", "failed", "ineligible")
    assert (acme.environment, acme.catalog, [acme.counts[name] for name in counts]) == (
        *("acme", "/acme"),
        [4, 2, 2, 1, 1, 1, 0],
    )
    assert (acme.ended_by, acme.last_at) == ("complete", NOW - timedelta(hours=23))
    assert (alive.ended_by, dead.ended_by) == ("active", "killed")
    assert (alive.counts, dead.counts, dead.document()["files"]) == ({}, {}, None)


def test_rows_that_only_a_journal_has_count_as_what_they_are(results: Results) -> None:
    """After a kill, in each view and in Python: each once, also when the next leg has published them."""
    night = plan_ago(timedelta(hours=2), "dddddd", items=4, environment="acme", catalog="/acme")
    results.write_plan(night)
    write_listed(results, night, ACME)
    StoredRun(results, night).take(is_killed=True)
    journal = Journal(results, night.run_id, 1, "w")
    journal.add(answered(night, 0, ACME[0], "rejected"), [exchange(night, 0)])
    journal.add(answered(night, 3, ACME[3]), [exchange(night, 3), exchange(night, None, "health")])
    journal.flush()
    store, asked = ResultsStore(results, "acme"), "SELECT change, before_outcome, now_outcome FROM changes"
    killed = describe_run(results, night.run_id)

    for is_published in (False, True):
        if is_published:
            end_dead_legs(results, lambda: NOW)
        acme = next(each for each in store_status(results, NOW).catalogs if each.catalog == "/acme")
        assert (acme.counts["accepted"], acme.counts["rejected"], acme.counts["remaining"]) == (1, 2, 1)
        assert acme.run_remaining == killed.remaining == 2  # the file that failed before remains of the run
        totals = store.sql("SELECT accepted, rejected, remaining FROM run_totals ORDER BY run_id").fetchall()
        assert totals[-1] == (1, 1, 2)
        assert len(store.table("exchanges")) == len(ResultsStore(results).exchanges(night.run_id, ["call"])) == 3
        assert len(ResultsStore(results).verdicts(night.run_id)) == 2
        assert ("broken", "accepted", "rejected") in store.sql(asked).fetchall()


def garble(results: Results, name: str) -> None:
    content = bytearray(results.store.read(name) or b"")
    content[100:140] = bytes(40)
    results.store.replace(name, bytes(content))


@pytest.mark.parametrize("damaged", [("listed",), ("gone", "journal")])
def test_what_is_damaged_of_one_catalog_is_named_and_hinders_no_other(
    results: Results, damaged: Sequence[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """A listing, what is gone since the one before, or the journal of a killed leg."""
    before, night = (plan_ago(timedelta(hours=h), f"ddddd{h}", items=2, catalog="/other", skipped=1) for h in (3, 2))
    for plan, names in ((before, "xyz"), (night, "xy")):
        StoredRun(results, plan).list_catalog(names)
        results.write_plan(plan)
    StoredRun(results, night).take(is_killed=True)
    write_journal(results, night, 1, [0])
    segments = results.store.names(f"_runs/{night.run_id}/journal/001")
    names = {word: items_name(night.run_id, 0, word) for word in ("listed", "gone")}
    names["journal"] = next(name for name in segments if "verdicts" in name)
    for word in damaged:
        garble(results, names[word])

    catalogs = {each.catalog: each for each in store_status(results, NOW).catalogs}
    changes = ResultsStore(results, "acme").sql("FROM changes WHERE catalog = '/acme'").fetchall()

    assert (catalogs["/acme"].counts["files"], len(changes)) == (4, 3)
    assert catalogs["/other"].counts.get("files") == (None if "listed" in damaged else 2)
    said = capsys.readouterr().err
    assert [f"proofsweep: {names[word]} in the results store" in said for word in damaged] == [True] * len(damaged)


def test_a_damaged_part_leaves_the_runs_known(results: Results, capsys: pytest.CaptureFixture[str]) -> None:
    """Counts without its rows would call its files unanswered."""
    part = max(results.all_parts("verdicts"))
    results.store.replace(part, (results.store.read(part) or b"")[:200])

    status = store_status(results, NOW)

    assert {catalog.document()["files"] for catalog in status.catalogs} == {None}
    assert all(catalog.last_run and catalog.ended_by for catalog in status.catalogs)
    said = capsys.readouterr().err
    assert "No catalog is counted: " in said
    assert part in said
    assert "; see: proofsweep audit" in said


def test_a_retired_catalog_is_told_apart_with_what_it_alone_had(results: Results) -> None:
    """Of the four files of its newest list, another list has two. It is gone from there once it is verified again."""
    other = plan_ago(timedelta(hours=2), "dddddd", items=2, environment="acme", catalog="/other")
    write_listed(results, other, ACME[:2])
    end_leg(results, other, [answered(other, 0, ACME[0])])
    results.log.retire("acme", "/acme", NOW)

    found = store_status(results, NOW)
    again = plan_ago(timedelta(hours=1), "eeeeee", items=4, environment="acme", catalog="/acme")
    results.write_plan(again)

    assert [(each.environment, each.catalog, each.files) for each in found.retired] == [("acme", "/acme", 2)]
    assert [each.catalog for each in found.catalogs] == ["/other", "/alive", "/dead"]
    assert store_status(results, NOW).retired == []


@pytest.mark.parametrize(("endings", "ended_by"), [(("quota", "complete"), "quota"), (("complete",), "killed")])
def test_a_run_of_two_partitions_ends_as_the_worse_one(results: Results, endings: Sequence[str], ended_by: str) -> None:
    """A partition that never began was lost with its process. `status` of the run and of the store say the same."""
    plan = plan_ago(timedelta(hours=2), "dddddd", items=4, environment="acme", catalog="/two", partitions=2)
    for leg, ending in enumerate(endings, start=1):
        row = answered(plan, 2 * leg - 2, str(leg))
        end_leg(results, plan, [row], leg=leg, ended_by=ending, finished_at=NOW.isoformat())

    (two,) = (each for each in store_status(results, NOW).catalogs if each.catalog == "/two")

    assert (two.ended_by, two.last_at) == (ended_by, NOW)
    assert describe_run(results, plan.run_id).ended_by == ended_by


def test_the_quota_is_that_of_the_last_answer(found: StoreStatus) -> None:
    """By the receipt of a leg, or by the heartbeat of an active one."""
    acme, borealis = found.quotas

    assert (acme.environment, acme.left, acme.sunset) == ("acme", 5_000, None)
    assert (borealis.left, borealis.resets_at) == (90, None)


def test_what_monitoring_was_told_last_counts_as_what_a_run_was_told(results: Results) -> None:
    """The quota, and an announced change; a probe without the quota, or one of an earlier day, tells nothing."""
    ago = timedelta(hours=5)
    passes = [
        operation_named(f"{NOW - ago - timedelta(hours=h):%Y%m%dT%H%M%SZ}_000aa", "monitoring") for h in (0, 1, 48)
    ]
    told = AnswerHeaders(rate_remaining=4_000, rate_reset=NOW + ago, sunset="Sat, 01 May 2027")
    for one, headers in zip(passes, (AnswerHeaders(), told, AnswerHeaders(rate_remaining=9)), strict=True):
        probe = replace(call_of(one, "r", Call.USAGE), headers=headers)
        leave_pass(results, one.operation_id, "acme", [probe])

    acme = next(quota for quota in store_status(results, NOW).quotas if quota.environment == "acme")

    assert (acme.left, acme.resets_at, acme.sunset) == (4_000, NOW + ago, "Sat, 01 May 2027")
