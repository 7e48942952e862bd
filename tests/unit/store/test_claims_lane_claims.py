"""The claim of passes on the lane of a key."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from proofsweep.model.runs import ClockReading
from proofsweep.store.claims import LaneClaim
from proofsweep.store.watches import ingest_store

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


@pytest.fixture
def lane(tmp_path: Path) -> LaneClaim:
    """The lane of a key that nobody claims."""
    return LaneClaim(ingest_store(str(tmp_path / "results")), "0123456789ab")


def at(seconds: float) -> ClockReading:
    """Return a reading of both clocks, so many seconds after now."""
    return ClockReading(NOW + timedelta(seconds=seconds), 1_000.0 + seconds, "boot")


def test_a_claim_is_held_while_it_is_renewed(lane: LaneClaim) -> None:
    """After half a minute it counts as that of a process that died."""
    assert not lane.is_held(at(0))

    lane.renew(at(0))

    assert lane.is_held(at(30))
    assert not lane.is_held(at(31))


def test_a_released_claim_is_not_held(lane: LaneClaim) -> None:
    """A second release is no error."""
    lane.renew(at(0))

    lane.release()
    lane.release()

    assert not lane.is_held(at(0))


def test_each_key_has_its_own_lane(lane: LaneClaim) -> None:
    """A sweep with another key does not yield."""
    lane.renew(at(0))

    assert not LaneClaim(lane.store, "ba9876543210").is_held(at(0))


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"at": "soon", "uptime_seconds": 1, "boot": ""}'])
def test_a_claim_that_cannot_be_read_is_not_held(lane: LaneClaim, content: bytes) -> None:
    """A sweep must not be slow for ever."""
    lane.store.replace("lanes/0123456789ab.json", content)

    assert not lane.is_held(at(0))
