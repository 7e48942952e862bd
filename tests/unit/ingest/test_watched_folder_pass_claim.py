"""One pass over a watched folder at a time."""

from datetime import UTC, datetime

import pytest

from proofsweep.errors import RunIsActive
from proofsweep.ingest.watched_folder import claimed_folder
from proofsweep.store.lease import Lease
from proofsweep.store.plans_and_parts import Results

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


@pytest.fixture
def lease(results: Results) -> Lease:
    """The lease of a folder."""
    return Lease(results, "watched", lambda: NOW)


def test_a_folder_is_watched_by_one_process(lease: Lease) -> None:
    """The next one comes when the first has ended."""
    with claimed_folder(lease) as first:
        with pytest.raises(RunIsActive, match="process"), claimed_folder(lease):
            pass
        assert first.number == 1
    with claimed_folder(lease) as second:
        assert second.number == 2


def test_a_process_that_was_taken_over_begins_nothing(lease: Lease) -> None:
    """It may only have slept: another one works on the folder now."""
    with claimed_folder(lease) as claim:
        claim.refuse_if_lost()

        lease.claim(2)

        with pytest.raises(RunIsActive):
            claim.refuse_if_lost()
