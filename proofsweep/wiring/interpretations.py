"""The refresh of process notes, wired."""

from collections import Counter

from proofsweep.model.operations import OperationKind
from proofsweep.model.proofs import NotesRefreshed
from proofsweep.operations.outage_guard import OutageGuard
from proofsweep.operations.refresh_notes import NoteRefresh
from proofsweep.operations.wanted_notes import wanted_notes
from proofsweep.settings import Settings
from proofsweep.wiring.engines import ReadBlock, utc_now
from proofsweep.wiring.operations import call_budget, operation_begun
from proofsweep.wiring.stores import results_for


def refresh_interpretations(
    settings: Settings, read_block: ReadBlock | None = None, max_calls: int | None = None
) -> NotesRefreshed:
    """Ask for the notes of accepted proofs that have no ready one, with as many calls as settings and quota allow.

    Raises:
        ConfigError, ResultsError, RunMustStop: it could not be done to its end.
    """
    wanted = wanted_notes(results_for(settings), settings.service.environment, utc_now())
    if not wanted:
        return NotesRefreshed(operation_id=None, wanted=0, states={})
    with operation_begun(settings, OperationKind.INTERPRETATIONS, read_block) as work:
        states: Counter[str] = Counter()
        work.counts.update({"wanted": len(wanted), "states": states})
        refresh = NoteRefresh(
            partner=work.partner,
            log=work.log,
            budget=call_budget(work, settings, max_calls),
            outage=OutageGuard(work.partner),
            clock=utc_now,
            states=states,
        )
        refresh.run(wanted)
    return NotesRefreshed(operation_id=work.log.operation.operation_id, wanted=len(wanted), states=states)
