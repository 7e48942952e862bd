"""Verify one file now: the same steps as in a run, and the same row, but nothing is stored."""

from pathlib import Path

from proofsweep.batch.items import FileFacts, ManifestRow, WorkItem
from proofsweep.batch.outcomes import Deferred, Finished
from proofsweep.batch.preflight import SizeLimits, work_item_of
from proofsweep.client.partner import Partner
from proofsweep.errors import SourceError
from proofsweep.storage.local_files import LocalFiles
from proofsweep.usecases.verify_item import Clock, verify_item


def check_file(
    audio: Path, sidecar: Path | None, partner: Partner, limits: SizeLimits, clock: Clock
) -> Finished | Deferred:
    """Take one file, or one pair, through the core flow; an ineligible one costs no call."""
    return verify_item(_item(audio, sidecar, limits), partner, limits, clock)


def _item(audio: Path, sidecar: Path | None, limits: SizeLimits) -> WorkItem:
    facts, unreadable = _facts(audio)
    row = ManifestRow(
        number=0,
        audio=str(audio.absolute()),
        sidecar=None if sidecar is None else str(sidecar.absolute()),
        named_audio=audio.name,
        named_sidecar="" if sidecar is None else sidecar.name,
        audio_facts=facts,
        sidecar_facts=None if sidecar is None else _facts(sidecar)[0],
        unreadable=unreadable,
    )
    return work_item_of(row, audio.name, limits)


def _facts(path: Path) -> tuple[FileFacts | None, str | None]:
    try:
        return LocalFiles().facts(str(path.absolute())), None
    except SourceError as error:
        return None, error.message
