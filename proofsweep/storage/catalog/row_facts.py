"""From two locations to a catalog's row: what is known of them without opening them."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from proofsweep.domain.items import FileFacts, ManifestRow, Unlisted
from proofsweep.errors import SourceError
from proofsweep.storage.locations import path_within

FactsOf = Callable[[str], FileFacts | Unlisted | None]
"""Gives what is known of a file at a location; None when there is none, SourceError when it cannot be had."""

_NO_TAGS: Mapping[str, str] = MappingProxyType({})


def row_with_facts(
    facts_of: FactsOf,
    folder: str,
    *,
    number: int,
    audio: str | None,
    sidecar: str | None,
    item_id: str | None = None,
    tags: Mapping[str, str] = _NO_TAGS,
) -> ManifestRow:
    """Make a row with the facts of its files, named as seen from the catalog's folder."""
    audio_facts, audio_trouble = _facts(facts_of, audio, "audio")
    sidecar_facts, sidecar_trouble = _facts(facts_of, sidecar, "sidecar")
    return ManifestRow(
        number=number,
        audio=audio,
        sidecar=sidecar,
        named_audio="" if audio is None else path_within(audio, folder),
        named_sidecar="" if sidecar is None else path_within(sidecar, folder),
        item_id=item_id,
        tags=tags,
        audio_facts=audio_facts,
        sidecar_facts=sidecar_facts,
        unreadable=audio_trouble or sidecar_trouble,
    )


def _facts(facts_of: FactsOf, location: str | None, role: str) -> tuple[FileFacts | Unlisted | None, str | None]:
    if location is None:
        return None, None
    try:
        return facts_of(location), None
    except SourceError as error:
        return None, f"Of the {role}: {error.message}"
