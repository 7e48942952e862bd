"""A leg is active from its claim to its receipt."""

from datetime import UTC, datetime
from pathlib import Path

from proofsweep.domain.runs import Plan
from proofsweep.reporting.active_leg import active_leg
from proofsweep.storage.results.legs import Legs
from proofsweep.storage.results.results import Results
from proofsweep.storage.results.stores import open_store


def test_a_leg_is_active_from_its_claim_to_its_receipt(tmp_path: Path, plan: Plan) -> None:
    """This process runs, so a leg that it claimed is active until it ends."""
    results = Results(open_store(str(tmp_path)))
    legs = Legs(results, plan.run_id, lambda: datetime.now(UTC))
    before = active_leg(results, plan.run_id)
    legs.claim(1)
    during = active_leg(results, plan.run_id)
    legs.write_receipt(1, {"ended_by": "complete"})

    assert before is None
    assert during is not None
    assert active_leg(results, plan.run_id) is None
