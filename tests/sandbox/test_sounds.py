import io
from collections.abc import Callable
from random import Random

import pytest
import soundfile

from proofsweep_sandbox.samples import sounds

Sound = Callable[[float, Random], bytes]


@pytest.fixture
def chance() -> Random:
    """Repeatable chance."""
    return Random(1)  # noqa: S311 - sounds, not secrets


@pytest.mark.parametrize(
    ("sound", "kind"), [(sounds.wav, "WAV"), (sounds.aiff, "AIFF"), (sounds.caf, "CAF"), (sounds.mp3, "MP3")]
)
def test_a_sound_can_be_played(sound: Sound, kind: str, chance: Random) -> None:
    """Another library reads the correct format, rate and length."""
    found = soundfile.info(io.BytesIO(sound(0.1, chance)))

    assert (found.format, found.samplerate, found.channels) == (kind, 44_100, 1)
    assert found.frames >= 4_410


@pytest.mark.parametrize(
    ("sound", "magic"),
    [
        (sounds.wav, b"RIFF"),
        (sounds.aiff, b"FORM"),
        (sounds.caf, b"caff"),
        (sounds.mp3, b"ID3"),
        (sounds.m4a, b"\x00\x00\x00\x1cftypM4A "),
        (sounds.flac, b"fLaC"),
        (sounds.ogg, b"OggS"),
    ],
)
def test_a_sound_begins_as_its_format_does(sound: Sound, magic: bytes, chance: Random) -> None:
    """The first bytes identify the format."""
    assert sound(0.05, chance).startswith(magic)
