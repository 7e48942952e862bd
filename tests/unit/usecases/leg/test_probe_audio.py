"""The health probe sends audio that any reader takes for a WAV."""

import io
import wave

from proofsweep.usecases.leg.probe_audio import PROBE_AUDIO


def test_the_probe_audio_is_a_tenth_of_a_second_of_silence() -> None:
    """It is small, and its size is as announced."""
    content = b"".join(PROBE_AUDIO.chunks())

    with wave.open(io.BytesIO(content)) as audio:
        assert (audio.getnframes(), audio.getframerate()) == (4_410, 44_100)
        assert not any(audio.readframes(4_410))
    assert len(content) == PROBE_AUDIO.facts.size_bytes
