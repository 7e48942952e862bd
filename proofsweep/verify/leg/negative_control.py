"""Ask ahead of a leg whether the service accepts what it must refuse."""

from proofsweep.endings import EndedBy
from proofsweep.errors import RunMustStop
from proofsweep.model.items import Mode
from proofsweep.verify.leg.leg_context import LegContext

_MANY_FILES = 100  # two calls are at most a hundredth of the calls of such a leg


def send_negative_control(leg: LegContext) -> None:
    """Send the probe audio ahead of a leg of many files; one that is accepted ends it before anything is believed."""
    if leg.remaining.count < _MANY_FILES or leg.stop.reason is not None:
        return
    modes = {Mode.LEGACY_PAIR: leg.plan.pairs, Mode.ONE_FILE: leg.plan.eligible - leg.plan.pairs}
    for mode in (mode for mode, items in modes.items() if items):
        why = leg.control.calls.false_acceptance(mode)
        if why is not None:
            leg.stop.pull(RunMustStop(why, ended_by=EndedBy.BREAKER))
