"""Each line of an overview comes from what runs have left in the stores."""

import socket
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from proofsweep.answers.overview.gather import ShownAccount, ShownStore, overview_of
from proofsweep.answers.overview.values import FlowSchedule, FlowWorker, Overview, UpcomingRun
from proofsweep.model.exchanges import Call
from proofsweep.store.folder_store import FolderStore
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.probes import add_pass

from .conftest import KEY, NOW, end_night, plan_ago

ACME = ShownAccount(name="acme", environment="acme")


@pytest.fixture
def found(results: Results) -> Overview:
    """The overview of all that is in the store."""
    return overview_of([ShownStore(results=results)], NOW)


def test_a_catalog_has_its_coverage_and_its_last_run(found: Overview) -> None:
    """A file that failed, and one that has no row yet, remain; what was never listed whole has no counts."""
    acme, alive, dead = sorted(found.catalogs, key=lambda line: line.catalog)

    assert (acme.account, acme.catalog, acme.files, acme.covered, acme.remaining) == ("acme", "/acme", 4, 2, 2)
    assert (acme.rejected, acme.failed) == (1, 1)
    assert acme.oldest_open_reject is not None
    assert acme.oldest_open_reject.date() == (NOW - timedelta(days=1)).date()
    assert (acme.last_ended_by, acme.last_at) == ("complete", NOW - timedelta(hours=23))
    assert (alive.last_ended_by, dead.last_ended_by) == ("active", "killed")
    assert (alive.files, dead.files) == (None, None)


def test_a_leg_without_an_end_is_shown_with_its_machine(found: Overview) -> None:
    """A dead one too, since somebody may have to look at its machine; one silent process does not silence a machine."""
    alive, dead = sorted(found.legs, key=lambda line: line.catalog)
    (machine,) = found.machines

    assert (alive.account, alive.leg.is_alive, dead.leg.is_alive) == ("borealis", True, False)
    assert alive.leg.progress is not None
    assert (alive.leg.progress.finished, alive.leg.progress.rate) == (7, 2.0)
    assert (machine.name, machine.works_on, machine.is_silent) == (socket.gethostname(), ["borealis: /alive"], False)


def test_a_key_has_its_quota_its_pace_and_its_lane(found: Overview) -> None:
    """By the receipts of its legs; 700 calls on one day spend 5,000 in a week."""
    (key,) = [line for line in found.keys if line.account == "acme"]

    assert (key.fingerprint, key.quota_left, key.lane_rate) == (KEY, 5_000, 12.5)
    assert key.calls_per_day == pytest.approx(700, rel=0.1)
    assert key.spent_on() == (NOW - timedelta(hours=23) + timedelta(days=50 / 7)).date()


def test_monitoring_says_a_newer_quota(results: Results) -> None:
    """And when it resets: what would be spent only later lasts. Another account's probe says nothing."""
    for number, (environment, left) in enumerate({"acme": 4_000, "borealis": 1}.items()):
        row = {"operation_id": f"p{number}", "environment": environment, "call": str(Call.USAGE), "elapsed_ms": 1.0}
        row |= {"started_at": NOW, "rate_remaining": left, "rate_reset": NOW + timedelta(days=2)}
        add_pass(results, f"{NOW:%Y%m%dT%H%M%SZ}_{number:03}aaaaaa", NOW, [row])

    (key,) = overview_of([ShownStore(results=results, accounts=[ACME])], NOW).keys

    assert (key.quota_left, key.as_of, key.resets_at) == (4_000, NOW, NOW + timedelta(days=2))
    assert key.spent_on() is None


def test_the_end_of_a_key_is_counted_in_days(results: Results) -> None:
    """As a person has set it."""
    account = replace(ACME, key_ends_at=NOW + timedelta(days=3, hours=1))

    (key,) = overview_of([ShownStore(results=results, accounts=[account])], NOW).keys

    assert key.days_left(NOW) == 3


def test_only_the_chosen_accounts_are_shown(results: Results, tmp_path: Path) -> None:
    """Each under its own name, from each store."""
    other = Results(FolderStore(tmp_path / "other"))
    end_night(other, plan_ago(timedelta(days=2), "dddddd", items=1, environment="prod", catalog="/d"), ["accepted"])
    stores = [
        ShownStore(results=results, accounts=[ACME]),
        ShownStore(results=other, accounts=[ShownAccount(name="delta", environment="prod")]),
    ]

    found = overview_of(stores, NOW)

    assert [(line.account, line.catalog) for line in found.catalogs] == [("acme", "/acme"), ("delta", "/d")]
    assert found.legs == []
    assert [line.account for line in found.keys] == ["acme", "delta"]


def test_the_next_run_is_the_first_that_names_the_catalog(results: Results) -> None:
    """For its account, or for none in particular; workers are machines too."""
    at = NOW + timedelta(hours=1)
    runs = [("borealis", "/acme", 1), ("acme", "/other", 2), ("acme", "/acme", 3), (None, "/acme", 4)]
    upcoming = [
        UpcomingRun(at=at + timedelta(hours=hours), deployment="nightly", account=account, catalog=catalog)
        for account, catalog, hours in runs
    ]
    schedule = FlowSchedule(upcoming=upcoming, workers=[FlowWorker(name="w1", pool="p", beaten_at=NOW)])

    found = overview_of([ShownStore(results=results, accounts=[ACME])], NOW, lambda: schedule)

    assert [line.next_run for line in found.catalogs] == [at + timedelta(hours=3)]
    assert [machine.name for machine in found.machines] == ["w1 (worker of p)"]


def test_an_empty_store_has_nothing_to_show(tmp_path: Path) -> None:
    """It is no error: an account may have no run yet."""
    found = overview_of([ShownStore(results=Results(FolderStore(tmp_path)), accounts=[ACME])], NOW)

    assert (found.catalogs, found.legs, found.keys, found.machines) == ([], [], [], [])
