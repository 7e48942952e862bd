"""What a store may lack for a reason that is written down: prunings."""

from collections.abc import Sequence

from proofsweep.errors import ResultsError
from proofsweep.model import layout
from proofsweep.model.findings import Findings
from proofsweep.model.pruning import Pruning
from proofsweep.store.prunings import completed_at, prunings_of
from proofsweep.store.store import Store


def read_prunings(store: Store, run_id: str, findings: Findings) -> Sequence[Pruning]:
    """Read the prunings of a run, the oldest first; an interrupted one is a note."""
    try:
        prunings = prunings_of(store, run_id)
        open_ones = [pruning for pruning in prunings if completed_at(store, pruning) is None]
    except (ResultsError, ValueError, KeyError, TypeError):
        findings.bad(layout.pruning_folder(run_id), "holds a damaged intent or receipt of a pruning")
        return []
    if [(each.run_id, each.number) for each in prunings] != [(run_id, each + 1) for each in range(len(prunings))]:
        findings.bad(layout.pruning_folder(run_id), "holds the intent of a pruning of another run or number")
    for pruning in open_ones:
        name = layout.pruning_intent_name(run_id, pruning.number)
        findings.note(name, "has no receipt: the pruning was interrupted; repeat proofsweep prune")
    return prunings
