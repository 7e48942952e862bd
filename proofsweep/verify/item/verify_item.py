"""Take one item through the contract's core flow (contract, What the service does)."""

from contextlib import suppress

from proofsweep.errors import CallFailed, ResourceShortage, RunMustStop, SlotRefused, SlotSpent, SourceError
from proofsweep.model.items import WorkItem
from proofsweep.model.outcomes import Deferred, Failed, Finished, Outcome, outcome_of
from proofsweep.model.reasons import Ineligible, Reason
from proofsweep.verify.item.item_work import ItemWork, Record, VerifyContext


def verify_item(item: WorkItem, context: VerifyContext, record: Record = lambda _exchange: None) -> Finished | Deferred:
    """Find out what the service says about one item; whatever the item or the service bring is a value, never raised.

    (1) POST /uploads gives a short-lived slot, (2) a form POST to the slot stores the audio, (3) POST /verify gives the
    verdict, (4) a rejection counts only for files that are still what was sent. A slot that is spent before (3) is
    answered costs another round, which the retry rule bounds.

    Args:
        item: as planned, a file or a proof; one that is ineligible already costs no call.
        context: what it is verified with.
        record: takes each exchange at once, since an item may take minutes and its request IDs must outlive a crash.
    """
    with ItemWork(item, context, record) as work:
        try:
            while work.outcome is None:  # again where a fresh slot may help
                with suppress(SlotSpent), work.open_audio() as audio:
                    work.outcome = work.outcome_without_call(audio)
                    if work.outcome is None:
                        slot = work.partner.request_slot()  # (1)
                        work.partner.fill_slot(slot, audio)  # (2)
                        answer = work.partner.verify(slot, work.sidecar)  # (3)
                        work.outcome = outcome_of(answer)
        except (RunMustStop, ResourceShortage):
            return work.deferred()
        except SourceError as error:
            work.outcome = _unreadable(error)
        except (CallFailed, SlotRefused) as error:
            work.outcome = Failed(reason=error.reason, detail=error.message, error_code=error.code)
        return work.finished(work.unless_source_changed(work.outcome))  # (4)


def _unreadable(error: SourceError) -> Outcome:
    """A file that changes, or that its source does not give, failed for now; any other is for the catalog."""
    if error.reason in {Reason.SOURCE_CHANGED, Reason.SOURCE_UNAVAILABLE}:
        return Failed(reason=error.reason, detail=error.message)
    return Ineligible(Reason(error.reason), error.message)
