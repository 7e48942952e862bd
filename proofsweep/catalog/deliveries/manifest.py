"""Which messages the manifest of a batch names that are not there."""

import posixpath
from collections.abc import Iterator
from urllib.parse import unquote

from proofsweep.catalog.deliveries.batches import Batch
from proofsweep.catalog.deliveries.xml_reader import elements, local_name
from proofsweep.errors import SourceError
from proofsweep.files.names import composed
from proofsweep.files.source import Source


def absent_messages(batch: Batch, source: Source) -> list[str]:
    """Name the messages that a batch's manifest names and that are not in it, as it names them.

    A message is there if a release of the batch has its ID, or the ID of its release, or if its location names the
    release's folder. A completion file that is no manifest, or that cannot be read, names none.
    """
    if batch.completion is None or not batch.completion.lower().endswith(".xml"):
        return []
    known = {composed(posixpath.basename(at)) for at in batch.releases}
    known |= {text for release in batch.releases.values() for text in (release.message_id, release.release_id) if text}
    try:
        return [
            words[0] for words in _named(batch.completion, source) if words and known.isdisjoint(map(composed, words))
        ]
    except SourceError:
        return []


def _named(location: str, source: Source) -> Iterator[list[str]]:
    """Yield for each message that a manifest names all words by which it may be known, its own location first."""
    file = source.open(location)
    if file is None:
        return
    with file:
        for element in elements(file, ["MessageInBatch"]):
            texts = {local_name(each): (each.text or "").strip() for each in element.iter()}
            url = unquote(texts.pop("URL", "")).replace("\\", "/").strip("/")
            folders = [
                posixpath.splitext(part)[0] if part.lower().endswith(".xml") else part for part in url.split("/")
            ]
            yield [text for text in (url, *folders, *texts.values()) if text]
            element.clear()
