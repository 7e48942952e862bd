"""Uploads share a link evenly."""

import math

import pytest

from proofsweep.verify.rehearsal.event_queue import EventQueue
from proofsweep.verify.rehearsal.uplink import Uplink


def ends(sizes: list[float], *, speed: float, most_each: float = math.inf) -> dict[float, float]:
    """Upload some files from the beginning on, and return the end of each by its size."""
    events = EventQueue()
    link, found = Uplink(events=events, speed=speed, most_each=most_each), {}
    for size in sizes:
        link.send(size, lambda size: found.setdefault(size, events.now))
    events.run_all()
    assert link.carried == pytest.approx(sum(sizes))
    return found


def test_a_full_link_is_shared() -> None:
    """Both send 10 in the first two seconds; the second then has the link alone."""
    assert ends([10.0, 30.0], speed=10.0) == {10.0: pytest.approx(2.0), 30.0: pytest.approx(4.0)}


def test_one_upload_is_no_faster_than_its_connection() -> None:
    """The link is never full."""
    assert ends([10.0, 30.0], speed=math.inf, most_each=5.0) == {10.0: pytest.approx(2.0), 30.0: pytest.approx(6.0)}


def test_uploads_of_days_end() -> None:
    """Also where a float cannot tell the rest of an upload from nothing."""
    found = ends([1e12 + number for number in range(50)], speed=3e6)

    assert len(found) == 50
    assert max(found.values()) == pytest.approx(50e12 / 3e6)
