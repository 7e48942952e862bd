"""The health probe of a leg: a short file of our own, to see whether the service gives any verdicts."""

import io
import wave
from collections.abc import Iterator

from proofsweep.client.partner import Partner
from proofsweep.domain.items import FileFacts


class ProbeAudio:
    """A tenth of a second of digital silence as a WAV, without a credential."""

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


def verify_probe_audio(partner: Partner) -> None:
    """Take the probe audio through the core flow; any verdict at all shows that the service answers."""
    slot = partner.request_slot()
    partner.fill_slot(slot, PROBE_AUDIO)
    partner.verify(slot, None)
