"""Verify one file now: the same steps as in a run, and the same row, but nothing is stored."""

import posixpath
from pathlib import Path

from proofsweep.config.locations import path_of
from proofsweep.config.sections import ServiceSettings
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ConfigError, RunMustStop, SourceError
from proofsweep.domain.items import FileFacts, ManifestRow, WorkItem
from proofsweep.domain.outcomes import Deferred, Failed, Finished
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.domain.text import printable
from proofsweep.files.files import Files
from proofsweep.sources.preflight import work_item_of
from proofsweep.verify.item import VerifyContext, verify_item
from proofsweep.verify.service import Service


def located_item(audio: str, sidecar: str | None, sidecar_field: str | None, files: Files) -> WorkItem:
    """Return a file or pair as an item, with why it cannot be sent; CatalogError for a URL that is not read at all."""
    here = str(Path.cwd())
    audio_path = path_of(audio, here)
    audio_facts, refused = _facts(files, audio_path)
    sidecar_path, named_sidecar, sidecar_facts = None, "", None
    if sidecar is not None:
        sidecar_path = path_of(sidecar, here)
        named_sidecar = posixpath.basename(sidecar_path)
        sidecar_facts, _ = _facts(files, sidecar_path)
    row = ManifestRow(
        number=0,
        audio=audio_path,
        sidecar=sidecar_path,
        named_audio=posixpath.basename(audio_path),
        named_sidecar=named_sidecar,
        audio_facts=audio_facts,
        sidecar_facts=sidecar_facts,
        refused=refused,
    )
    return work_item_of(row, posixpath.basename(audio_path), sidecar_field)


def _facts(files: Files, location: str) -> tuple[FileFacts | None, Ineligible | None]:
    try:
        return files.facts(location), None
    except SourceError as error:
        return None, Ineligible(Reason(error.reason), error.message)


def known_good_items(service: ServiceSettings) -> list[WorkItem]:
    """Return the files and pairs that the service accepts; CatalogError or ConfigError if one cannot be sent."""
    files = Files()
    items = [located_item(audio, sidecar, service.sidecar_field, files) for audio, sidecar in service.known_good]
    for item in items:
        if item.ineligible is None:
            continue
        files_of_item = item.audio
        if item.sidecar is not None:
            files_of_item += f" with {item.sidecar}"
        why = item.ineligible.detail
        raise ConfigError(f"service.known_good: {printable(files_of_item)} cannot be sent. {why}")
    return items


def answered_file(service: Service, audio: str, sidecar: str | None) -> Finished:
    """Verify one file or pair, and return its outcome; ConfigError, ResultsError or RunMustStop if there is none."""
    item = located_item(audio, sidecar, service.settings.sidecar_field, service.files)
    context = VerifyContext(partner=service.partner, files=service.files, clock=service.clock)
    done = verify_item(item, context)
    if isinstance(done, Deferred):
        service.stop.check()
        raise RunMustStop("Too few files can be opened, or there is too little memory.", ended_by=EndedBy.BREAKER)
    if isinstance(done.outcome, Failed):
        service.usable()  # raises if the service fails for all files, not only for this one
    return done
