"""Which audio format a file's first bytes show; the name of the file is never asked."""

from enum import StrEnum


class AudioFormat(StrEnum):
    """The values of the `audio_format` column."""

    WAV = "wav"
    RF64 = "rf64"
    BW64 = "bw64"
    AIFF = "aiff"
    CAF = "caf"
    MP3 = "mp3"
    M4A = "m4a"
    FLAC = "flac"
    OGG = "ogg"
    UNKNOWN = "unknown"
