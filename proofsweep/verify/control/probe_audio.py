"""A file of our own whose answer is known: a tenth of a second of silence has no credential."""

import io
import wave

from proofsweep.files.files import Files
from proofsweep.files.source import OpenFile
from proofsweep.model.items import FileFacts, Mode, WorkItem

_AUDIO, _SIDECAR = "probe audio", "probe sidecar"


def probe_item(mode: Mode) -> WorkItem:
    """Return the probe audio as an item; as a pair it has a sidecar that is no proof."""
    sidecar = _SIDECAR if mode is Mode.LEGACY_PAIR else None
    return WorkItem(manifest_row=-1, item_id=_AUDIO, audio=_AUDIO, sidecar=sidecar)


class ProbeFiles(Files):
    """A source that holds the probe audio and its sidecar alone."""

    def facts(self, location: str) -> FileFacts:
        """Return the facts that it always has."""
        return self.open(location).facts()

    def open(self, location: str, *, is_whole: bool = False) -> OpenFile:  # noqa: ARG002 - makes no difference
        """Open one of the two."""
        return _BytesFile(_silence() if location == _AUDIO else b"This is no proof.")


class _BytesFile(OpenFile):
    """A file in memory."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def facts(self) -> FileFacts:
        return FileFacts(len(self._content), "")

    def read_at(self, offset: int, most_bytes: int) -> bytes:
        return self._content[offset : offset + most_bytes]

    def close(self) -> None:
        """Nothing is open."""


def _silence() -> bytes:
    written = io.BytesIO()
    with wave.open(written, "wb") as file:
        file.setparams((1, 2, 44_100, 0, "NONE", ""))
        file.writeframes(bytes(8_820))
    return written.getvalue()
