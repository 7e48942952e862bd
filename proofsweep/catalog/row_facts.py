"""Make a catalog's row of two locations, with what is known of the files before they are opened."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from proofsweep.catalog.place import Place
from proofsweep.errors import SourceError
from proofsweep.model.items import FileFacts, ManifestRow, Unlisted
from proofsweep.model.reasons import Ineligible, Reason

FactsOf = Callable[[str], FileFacts | Unlisted | None]
"""Gives what is known of the file at a location; None if there is no file, SourceError if that cannot be found out."""

_NO_TAGS: Mapping[str, str] = MappingProxyType({})


def row_with_facts(
    facts_of: FactsOf,
    place: Place,
    *,
    number: int,
    audio: str | None,
    sidecar: str | None,
    item_id: str | None = None,
    tags: Mapping[str, str] = _NO_TAGS,
    contested_sidecar: str | None = None,
    refused: Ineligible | None = None,
    where: str = "",
) -> ManifestRow:
    """Make a row with the facts of its files, named as the catalog's place has it; `where` goes before what is wrong.

    Of a row that is `refused` already, nothing is asked.
    """
    audio_facts, audio_refused = _facts(facts_of, None if refused else audio, where, Reason.MISSING_AUDIO)
    sidecar_facts, sidecar_refused = _facts(facts_of, None if refused else sidecar, where, Reason.MISSING_SIDECAR)
    return ManifestRow(
        number=number,
        audio=audio,
        sidecar=sidecar,
        named_audio=place.named(audio),
        named_sidecar=place.named(sidecar),
        item_id=item_id,
        tags=tags,
        audio_facts=audio_facts,
        sidecar_facts=sidecar_facts,
        refused=refused or audio_refused or sidecar_refused,
        contested_sidecar=contested_sidecar,
    )


def _facts(
    facts_of: FactsOf, location: str | None, where: str, missing: Reason
) -> tuple[FileFacts | Unlisted | None, Ineligible | None]:
    if location is None:
        return None, None
    try:
        return facts_of(location), None
    except SourceError as error:
        role = "audio" if missing is Reason.MISSING_AUDIO else "sidecar"
        words = f"{where}, {role}" if where else f"Of the {role}"
        reason = missing if error.reason == Reason.MISSING_AUDIO else Reason(error.reason)
        return None, Ineligible(reason, f"{words}: {error.message}")
