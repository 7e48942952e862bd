"""Tell whether somebody is at work on a run right now."""

from datetime import UTC, datetime

from proofsweep.domain.runs import Claim
from proofsweep.storage.results.legs import Legs
from proofsweep.storage.results.results import Results


def active_leg(results: Results, run_id: str) -> Claim | None:
    """Give the claim of the run's last leg while that leg is alive; None when nobody works on the run."""
    legs = Legs(results, run_id, lambda: datetime.now(UTC))
    last = max(legs.numbers(), default=0)
    if not last or legs.receipt(last) is not None or not legs.is_alive(last):
        return None
    return legs.holder(last)
