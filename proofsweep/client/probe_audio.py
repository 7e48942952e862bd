"""A tenth of a second of silence as a WAV: a file of our own, to see whether the service answers anybody."""

import io
import wave
from collections.abc import Iterator

from proofsweep.domain.items import FileFacts


class ProbeAudio:
    """Audio that holds nothing, and no credential."""

    def __init__(self) -> None:
        written = io.BytesIO()
        with wave.open(written, "wb") as file:
            file.setparams((1, 2, 44_100, 0, "NONE", ""))
            file.writeframes(bytes(8_820))
        self._content = written.getvalue()
        self.facts = FileFacts(size_bytes=len(self._content), version="")

    def chunks(self) -> Iterator[bytes]:
        """Give all of it."""
        yield self._content


PROBE_AUDIO = ProbeAudio()
