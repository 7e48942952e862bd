"""What one process of a leg writes for another is read as it was meant."""

import json
from datetime import UTC, datetime

import pytest

from proofsweep.domain.runs import STALE_SECONDS, Claim
from proofsweep.domain.worker_processes import (
    EXCHANGE_SECONDS,
    GRANT_SECONDS,
    Orders,
    WorkerReport,
    document_of,
    orders_of,
    report_of,
)
from proofsweep.errors import RunMustStop

PROCESS = Claim(host="h", boot="b", pid=7, process_started="1", claimed_at="2026-11-20T00:00:00+00:00")
STOP = RunMustStop("No calls.", ended_by="quota", quota_reset=datetime(2026, 12, 1, tzinfo=UTC))


def test_a_report_arrives_whole() -> None:
    """With the reason for which its process ended the leg."""
    report = WorkerReport(process=PROCESS, number=3, rows={"accepted": 2}, calls=4, rate=1.5, is_busy=True, stop=STOP)

    read = report_of(json.loads(json.dumps(document_of(report))))

    assert document_of(read) == document_of(report)
    assert read.stop is not None
    assert (read.stop.message, read.stop.ended_by, read.stop.quota_reset) == (*("No calls.", "quota"), STOP.quota_reset)


def test_orders_arrive_whole() -> None:
    """A process may make any number of calls, or as many as it is told."""
    orders = Orders(number=9, granted={"a": None, "b": 12}, is_aborted=True)

    assert orders_of(json.loads(json.dumps(document_of(orders)))) == orders


@pytest.mark.parametrize("document", [{}, {"stop": None, "process": {}}, {"stop": None, "mistake": 1}])
def test_what_is_no_message_is_refused(document: dict[str, object]) -> None:
    """Another version of the program may have written it."""
    with pytest.raises((TypeError, KeyError)):
        report_of(document)
    with pytest.raises((TypeError, KeyError)):
        orders_of(document | {"unknown": 1})


def test_a_grant_ends_before_another_process_may_take_the_leg_over() -> None:
    """Else two legs could verify one row. Several orders may be lost before that."""
    assert 5 * EXCHANGE_SECONDS <= GRANT_SECONDS < STALE_SECONDS
