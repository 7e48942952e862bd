"""Make a catalog's row of two locations, with what is known of the files before they are opened."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from proofsweep.domain.items import FileFacts, ManifestRow, Unlisted
from proofsweep.errors import SourceError
from proofsweep.storage.locations import path_within

FactsOf = Callable[[str], FileFacts | Unlisted | None]
"""Gives what is known of the file at a location; None if there is no file, SourceError if that cannot be found out."""

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
    contested_sidecar: str | None = None,
) -> ManifestRow:
    """Make a row with the facts of its files, whose names are relative to the catalog's folder."""
    audio_facts, audio_error = _facts(facts_of, audio, "audio")
    sidecar_facts, sidecar_error = _facts(facts_of, sidecar, "sidecar")
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
        unreadable=audio_error or sidecar_error,
        contested_sidecar=contested_sidecar,
    )


def _facts(facts_of: FactsOf, location: str | None, role: str) -> tuple[FileFacts | Unlisted | None, str | None]:
    if location is None:
        return None, None
    try:
        return facts_of(location), None
    except SourceError as error:
        return None, f"Of the {role}: {error.message}"
