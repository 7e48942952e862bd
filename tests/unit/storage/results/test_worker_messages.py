"""The processes of a leg find each other's last message, and no other."""

from pathlib import Path

import pytest

from proofsweep.domain.runs import Claim
from proofsweep.domain.worker_processes import Orders, WorkerReport
from proofsweep.storage.results.folder_store import FolderStore
from proofsweep.storage.results.worker_messages import WorkerMessages

PROCESS = Claim(host="h", boot="b", pid=7, process_started="1", claimed_at="2026-11-20T00:00:00+00:00")


@pytest.fixture
def messages(tmp_path: Path) -> WorkerMessages:
    """The messages of the second leg of a run."""
    return WorkerMessages(FolderStore(tmp_path), "r", 2)


def test_there_are_none_at_first(messages: WorkerMessages) -> None:
    """The leg has had no worker process."""
    assert (messages.reports(), messages.orders()) == ({}, None)


def test_the_last_report_of_each_process_is_read(messages: WorkerMessages) -> None:
    """By its name; another leg's are another leg's."""
    for number in (1, 2):
        messages.write_report("7_ab", WorkerReport(process=PROCESS, number=number))
    messages.write_report("8_cd", WorkerReport(process=PROCESS, number=9))

    assert {name: report.number for name, report in messages.reports().items()} == {"7_ab": 2, "8_cd": 9}
    assert WorkerMessages(messages.store, "r", 1).reports() == {}


def test_the_last_orders_are_read(messages: WorkerMessages) -> None:
    """Each replaces the one before."""
    for number in (1, 2):
        messages.write_orders(Orders(number=number))

    assert messages.orders() == Orders(number=2)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"stop": null, "of_a_later_version": 1}'])
def test_what_cannot_be_read_is_no_message(messages: WorkerMessages, content: bytes) -> None:
    """Another version of the program may have written it."""
    messages.store.replace("_runs/r/legs/002/orders.json", content)
    messages.store.replace("_runs/r/legs/002/workers/7_ab.json", content)

    assert (messages.reports(), messages.orders()) == ({}, None)


def test_messages_are_deleted_with_their_leg(messages: WorkerMessages) -> None:
    """A year of nights leaves none behind."""
    messages.write_orders(Orders())
    messages.write_report("7_ab", WorkerReport(process=PROCESS))

    messages.delete()

    assert messages.store.names("_runs/r/legs/002") == []
    assert messages.store.names("_runs/r/legs/002/workers") == []
