"""Each pass of monitoring is one object, each hour becomes one part, and no probe is lost or seen twice."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from proofsweep.domain.errors import ResultsError
from proofsweep.queries.connection import opened
from proofsweep.results import open_results
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results
from proofsweep.store.probes import publish_hours, read_probes

from ..passes_of_monitoring import leave_pass, leave_passes

FIRST = datetime(2026, 11, 20, 10, tzinfo=UTC)
NEXT_HOUR = FIRST + timedelta(hours=1, minutes=1)


class Killed(Exception):
    """The process ended here."""


def objects(results: Results) -> list[str]:
    """Name the objects of the table, without their folders."""
    return [name.rpartition("/")[2] for name in results.all_parts("probes")]


def seen(results: Results) -> Sequence[Sequence[str]]:
    """Name the probes that each way to read them shows."""
    query = "SELECT request_id FROM probes"
    with opened(results) as store:
        view = store.connection.execute(query).fetchall()
    python = open_results(results.store.url).table("probes", columns=["request_id"]).to_pylist()
    return [
        sorted(request_id for (request_id,) in view),
        sorted(row["request_id"] for row in python),
        sorted(row["request_id"] for row in read_probes(results, ["request_id"], [FIRST.date()]).to_pylist()),
    ]


def requests_of(passes: Sequence[str]) -> Sequence[Sequence[str]]:
    """Name the probes of passes, once for each way to read them."""
    return [sorted(f"{each}-{call}" for each in passes for call in ("health", "usage"))] * 3


def test_a_pass_is_one_object_and_an_hour_that_is_over_one_part(results: Results) -> None:
    """Those of the hour that has begun stay as they are; views and Python show all, once each."""
    passes = leave_passes(results, FIRST, 12)
    assert len(objects(results)) == 12
    publish_hours(results, FIRST + timedelta(minutes=59))
    assert (len(objects(results)), seen(results)) == (12, requests_of(passes))

    passes += leave_passes(results, NEXT_HOUR, 1)
    publish_hours(results, NEXT_HOUR)

    assert objects(results) == ["20261120T10-000.parquet", f"{passes[-1]}.parquet"]
    assert seen(results) == requests_of(passes)
    publish_hours(results, NEXT_HOUR)
    assert len(objects(results)) == 2


def test_killed_before_the_passes_are_deleted_each_probe_is_seen_once(
    results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The part holds them all; the next pass deletes what is left."""
    passes = leave_passes(results, FIRST, 3)

    def killed(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(FolderStore, "delete", killed)
        with pytest.raises(Killed):
            publish_hours(results, NEXT_HOUR)

    assert (len(objects(results)), seen(results)) == (4, requests_of(passes))
    publish_hours(results, NEXT_HOUR)
    assert (objects(results), seen(results)) == (["20261120T10-000.parquet"], requests_of(passes))


def test_machines_that_publish_at_once_lose_and_double_nothing(results: Results) -> None:
    """Each has seen other passes, and those that come late stay; readers beside them see every probe at each moment."""
    passes = leave_passes(results, FIRST, 12)

    def machine(number: int) -> None:
        leave_pass(results, f"20261120T105958Z_00{number}cc")
        publish_hours(results, NEXT_HOUR)

    with ThreadPoolExecutor(8) as pool:
        work = [pool.submit(machine, number) for number in range(8)]
        while not all(each.done() for each in work):
            there = read_probes(results, ["operation_id"], [FIRST.date()])["operation_id"].to_pylist()
            assert set(passes) <= set(there)
            assert len(there) % 2 == 0
        for each in work:
            each.result()

    publish_hours(results, NEXT_HOUR)
    assert seen(results) == requests_of([*passes, *(f"20261120T105958Z_00{number}cc" for number in range(8))])
    parts = [results.table("probes", [name]).num_rows for name in results.all_parts("probes")]
    assert sum(parts) == 2 * 20


def test_a_damaged_object_is_an_error_and_nothing_is_deleted(results: Results) -> None:
    """It is not taken for one that another machine has deleted."""
    leave_passes(results, FIRST, 2)
    results.store.replace("probes/run_date=2026-11-20/20261120T103000Z_000dd.parquet", b"PAR1")

    with pytest.raises(ResultsError, match="damaged"):
        publish_hours(results, NEXT_HOUR)

    assert len(objects(results)) == 3
