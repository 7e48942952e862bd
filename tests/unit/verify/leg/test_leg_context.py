"""A leg's context is data; a few things are derived from it."""

from dataclasses import replace

from proofsweep.model.tables.verdicts import RowContext

from ...conftest import LegBuilder


def test_all_rows_of_a_leg_share_its_run_environment_and_epoch(new_leg: LegBuilder) -> None:
    """The environment is the plan's, whatever the settings say by now."""
    plan = new_leg.plan(1)

    leg = replace(new_leg.leg(plan, 3), epoch=2)

    assert leg.row_context == RowContext(plan.run_id, 3, "beta", epoch=2)


def test_the_lane_is_the_partners(new_leg: LegBuilder) -> None:
    """What one leg learns of the rate limit, every user of the partner knows."""
    new_leg.partner.session.context.dispatcher.remember(5.0)

    assert new_leg.leg(new_leg.plan(1)).dispatcher.status().rate == 5.0
