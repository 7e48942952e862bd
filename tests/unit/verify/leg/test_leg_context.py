"""A leg's context is data; a few things are derived from it."""

from ...conftest import LegBuilder


def test_the_lane_is_the_partners(new_leg: LegBuilder) -> None:
    """What one leg learns of the rate limit, every user of the partner knows."""
    new_leg.partner.session.context.dispatcher.remember(5.0)

    assert new_leg.leg(new_leg.plan(1)).dispatcher.status().rate == 5.0
