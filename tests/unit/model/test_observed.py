"""What was observed is kept with a sample, and read again as it was."""

import json
import math
from dataclasses import asdict
from datetime import UTC, datetime

import pytest

from proofsweep.model.observed import ObservedLane, ObservedLink, ObservedService, service_of

SEEN = ObservedService(
    origin="a sample of 20",
    rows=20,
    measured_at=datetime(2026, 11, 20, 10, tzinfo=UTC),
    slot_seconds=[0.1, 0.2],
    verify_seconds=[0.3],
    lane=ObservedLane(rate=20.0, burst=7.0),
    link=ObservedLink(of_each=1e6),
)


def test_what_was_observed_survives_json() -> None:
    """What has no limit is infinite again."""
    assert service_of(json.loads(json.dumps(asdict(SEEN), default=str))) == SEEN
    assert service_of(json.loads(json.dumps(asdict(ObservedService(origin="")), default=str))).measured_at is None


@pytest.mark.parametrize("document", [{}, {"lane": {}, "link": {}}, {"lane": {}, "link": {}, "measured_at": "soon"}])
def test_what_cannot_be_understood_is_refused(document: dict[str, object]) -> None:
    """It is derived: a later version may write other members."""
    with pytest.raises((KeyError, TypeError, ValueError)):
        service_of(document)


def test_a_lane_or_a_link_is_known_once_it_has_a_limit() -> None:
    """Of one kind or the other."""
    assert ObservedLane(most_at_once=8).is_reached
    assert ObservedLane(rate=2.0).is_reached
    assert not ObservedLane(fastest=9.0).is_reached
    assert [ObservedLink(of_each=each, of_all=every).is_known for each, every in ((1.0, math.inf), (math.inf, 1.0))]
    assert not ObservedLink(fixed_seconds=1.0).is_known
