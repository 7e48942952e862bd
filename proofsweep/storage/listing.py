"""From two locations to a catalog's row: what their source knows of them without opening them."""

from collections.abc import Mapping
from types import MappingProxyType

from proofsweep.batch.items import FileFacts, ManifestRow
from proofsweep.errors import SourceError
from proofsweep.storage.locations import path_within
from proofsweep.storage.sources import Source

_NO_TAGS: Mapping[str, str] = MappingProxyType({})


def listed_row(
    source: Source,
    folder: str,
    *,
    number: int,
    audio: str | None,
    sidecar: str | None,
    item_id: str | None = None,
    tags: Mapping[str, str] = _NO_TAGS,
) -> ManifestRow:
    """Make a row with the facts of its files, named as seen from the catalog's folder."""
    audio_facts, audio_trouble = _facts(source, audio, "audio")
    sidecar_facts, sidecar_trouble = _facts(source, sidecar, "sidecar")
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


def _facts(source: Source, location: str | None, role: str) -> tuple[FileFacts | None, str | None]:
    if location is None:
        return None, None
    try:
        return source.facts(location), None
    except SourceError as error:
        return None, f"Of the {role}: {error.message}"
