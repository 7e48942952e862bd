"""Take one proof through the contract's core flow without a local file: its asset goes straight into a slot."""

from contextlib import suppress
from http import HTTPStatus

from proofsweep.client.assets import AssetBody
from proofsweep.client.partner import Partner
from proofsweep.contract.models import UploadResponse
from proofsweep.domain.exchanges import Call
from proofsweep.domain.items import Mode, WorkItem
from proofsweep.domain.outcomes import Deferred, Failed, Finished, Outcome, outcome_of
from proofsweep.domain.preflight import judge_content, judge_size
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.errors import CallFailed, RunMustStop, ServiceError, SlotRefused, SlotSpent, SourceError
from proofsweep.usecases.item.item_work import ItemWork, Record, VerifyContext

# Downloads of one asset. Chosen: half gives up at one broken connection; twice waits longer for one that is broken.
_MOST_DOWNLOADS = 3
# Statuses of a download whose short-lived URL has expired (contract, Endpoints 8).
_EXPIRED_STATUSES = frozenset({HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND, HTTPStatus.GONE})
_NO_ASSET = Ineligible(
    Reason.NO_ASSET,
    "The service has no one-file artifact of this proof (404): it is of a legacy pair, erased, or pending.",
)


def verify_proof(item: WorkItem, proof_id: str, context: VerifyContext, record: Record) -> Finished | Deferred:
    """Find out what the service says about the asset of a proof; as `verify_item`, it raises nothing.

    (1) GET the asset's URL, (2) GET the asset; while it arrives (3) POST /uploads and (4) the form POST to the slot;
    then (5) POST /verify.
    """
    with ItemWork(item, context, record) as work:
        downloads = context.partner.in_new_session(work.note)  # (3) and (4) happen in the middle of (2)
        tries = 0
        try:
            while work.outcome is None:
                tries += 1
                with suppress(SlotSpent):
                    work.outcome = _outcome(work, proof_id, downloads, is_last=tries >= _MOST_DOWNLOADS)
        except RunMustStop:
            return work.deferred()
        except (CallFailed, SlotRefused) as error:
            work.outcome = _outcome_of_failure(error)
        return work.finished(work.outcome)


def _outcome(work: ItemWork, proof_id: str, downloads: Partner, *, is_last: bool) -> Outcome | None:
    """Download, upload and verify once; None if another download may help."""
    unfit: list[Ineligible] = []
    filled: list[UploadResponse] = []

    def pass_on(audio: AssetBody) -> None:
        work.reads(audio)
        refused = judge_size(audio.facts, work.limits.one_file) or judge_content(audio.audio_format, Mode.ONE_FILE)
        if refused is not None:
            unfit.append(refused)
            return
        slot = work.partner.request_slot()  # (3)
        work.partner.fill_slot(slot, audio)  # (4)
        filled.append(slot)

    url = work.partner.asset_url(proof_id)  # (1)
    try:
        downloads.pass_on_asset(url, work.limits.one_file, pass_on)  # (2)
    except SourceError as error:
        if error.reason == Reason.TOO_LARGE:
            return Ineligible(Reason.TOO_LARGE, error.message)
        return Failed(reason=error.reason, detail=error.message) if is_last else None
    except CallFailed as error:
        if is_last or error.stage != Call.DOWNLOAD or error.status not in _EXPIRED_STATUSES:
            raise
        return None
    return unfit[0] if unfit else outcome_of(work.partner.verify(filled[0], None))  # (5)


def _outcome_of_failure(error: ServiceError) -> Outcome:
    if error.stage == Call.ASSET and error.status == HTTPStatus.NOT_FOUND:
        return _NO_ASSET
    return Failed(reason=error.reason, detail=error.message, error_code=error.code)
