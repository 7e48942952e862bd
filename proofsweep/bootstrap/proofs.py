"""Operations on proofs, wired."""

from proofsweep.bootstrap.engines import ReadBlock
from proofsweep.bootstrap.operations import call_budget, operation_begun
from proofsweep.domain.operations import OperationKind
from proofsweep.domain.proofs import Inventory
from proofsweep.settings import Settings
from proofsweep.usecases.proofs.take_inventory import take_inventory


def inventory_proofs(settings: Settings, read_block: ReadBlock | None = None) -> Inventory:
    """List all proofs, and reconcile them with the newest answers of the results store.

    Raises:
        CallFailed, ConfigError, ResultsError, RunMustStop: it could not be done.
    """
    with operation_begun(settings, OperationKind.INVENTORY, read_block) as work:
        call_budget(work, settings)
        found = take_inventory(work.partner, work.results, work.log)
        work.counts.update({**found.states, "unnamed": found.unnamed, "problem": found.problem})
    return found
