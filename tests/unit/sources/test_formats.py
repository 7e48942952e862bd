"""A format is recognised by the first bytes alone."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from proofsweep.sources.formats import HEAD_BYTES, AudioFormat, format_of, tag_bytes, unlisted_audio

MP3_FRAME = b"\xff\xfb\x90\x00" + bytes(413)  # MPEG 1 layer III, 128 kbit/s at 44.1 kHz: 417 bytes
MPEG_2_FRAME = b"\xff\xf3\x40\x00" + bytes(204)  # MPEG 2 layer III, 32 kbit/s at 22.05 kHz needs 104


def id3_tag(body_bytes: int) -> bytes:
    """Make an ID3v2.3 tag with this many bytes after its header of ten."""
    size = bytes(body_bytes >> shift & 0x7F for shift in (21, 14, 7, 0))
    return b"ID3\x03\x00\x00" + size + bytes(body_bytes)


FORMATS = {
    "wav": (b"RIFF\x24\x00\x00\x00WAVEfmt ", AudioFormat.WAV),
    "big-endian wav": (b"RIFX\x00\x00\x00\x24WAVEfmt ", AudioFormat.WAV),
    "rf64": (b"RF64\xff\xff\xff\xffWAVEds64", AudioFormat.RF64),
    "bw64": (b"BW64\xff\xff\xff\xffWAVEds64", AudioFormat.BW64),
    "aiff": (b"FORM\x00\x00\x00\x2eAIFFCOMM", AudioFormat.AIFF),
    "aifc": (b"FORM\x00\x00\x00\x2eAIFCFVER", AudioFormat.AIFF),
    "caf": (b"caff\x00\x01\x00\x00desc", AudioFormat.CAF),
    "flac": (b"fLaC\x00\x00\x00\x22", AudioFormat.FLAC),
    "ogg": (b"OggS\x00\x02", AudioFormat.OGG),
    "m4a": (b"\x00\x00\x00\x20ftypM4A \x00\x00\x00\x00", AudioFormat.M4A),
    "mp4": (b"\x00\x00\x00\x20ftypisom\x00\x00\x02\x00", AudioFormat.M4A),
    "mp3 of one frame": (MP3_FRAME, AudioFormat.MP3),
    "mp3 of two frames": (MP3_FRAME * 2, AudioFormat.MP3),
    "mp3 with a tag": (id3_tag(40) + MP3_FRAME * 2, AudioFormat.MP3),
    "mp3 with two tags": (id3_tag(40) + id3_tag(10) + MP3_FRAME, AudioFormat.MP3),
    "mp3 with a tag longer than the head": (id3_tag(200_000)[:HEAD_BYTES], AudioFormat.MP3),
    "mp3 with padding after its tag": (id3_tag(40) + bytes(30) + MP3_FRAME * 2, AudioFormat.MP3),
    "flac with a tag": (id3_tag(40) + b"fLaC\x00\x00\x00\x22", AudioFormat.FLAC),
    "aac with a tag": (id3_tag(40) + b"\xff\xf1\x50\x80" + bytes(60), AudioFormat.UNKNOWN),
    "monkey's audio with a tag": (id3_tag(40) + b"MAC \x96\x0f\x00\x00" + bytes(60), AudioFormat.UNKNOWN),
    "true audio with a tag": (id3_tag(40) + b"TTA1\x01\x00\x02\x00" + bytes(60), AudioFormat.UNKNOWN),
    "musepack with a tag": (id3_tag(40) + b"MP+\x07" + bytes(60), AudioFormat.UNKNOWN),
    "ac-3 with a tag": (id3_tag(40) + (b"\x0b\x77\x00\x00\x14\x40" + bytes(762)) * 2, AudioFormat.UNKNOWN),
    "nothing": (b"", AudioFormat.UNKNOWN),
    "text": (b"audio,sidecar\n", AudioFormat.UNKNOWN),
    "a RIFF without audio": (b"RIFF\x24\x00\x00\x00AVI LIST", AudioFormat.UNKNOWN),
    "an IFF picture": (b"FORM\x00\x00\x00\x2eILBMBMHD", AudioFormat.UNKNOWN),
    "a photograph in an MP4 box": (b"\x00\x00\x00\x20ftypheic\x00\x00\x00\x00", AudioFormat.UNKNOWN),
    "aac without a tag": (b"\xff\xf1\x50\x80" + bytes(60), AudioFormat.UNKNOWN),
    "mpeg layer II": (b"\xff\xfd\x84\x04" + bytes(60), AudioFormat.UNKNOWN),
    "a frame without a second one": (MP3_FRAME + b"<html>", AudioFormat.UNKNOWN),
    "a frame without bitrate": (b"\xff\xfb\xf0\x00" + bytes(600), AudioFormat.UNKNOWN),
    "a frame without sample rate": (b"\xff\xfb\x9c\x00" + bytes(600), AudioFormat.UNKNOWN),
    "a reserved version": (b"\xff\xeb\x90\x00" + bytes(600), AudioFormat.UNKNOWN),
    "a jpeg": (b"\xff\xd8\xff\xe0\x00\x10JFIF", AudioFormat.UNKNOWN),
    "utf-16 text": ("\ufeffaudio".encode("utf-16-le"), AudioFormat.UNKNOWN),
}


@pytest.mark.parametrize(("head", "expected"), FORMATS.values(), ids=FORMATS)
def test_the_first_bytes_show_the_format(head: bytes, expected: AudioFormat) -> None:
    """A container has magic bytes and MP3 has a valid frame; anything else is unknown."""
    assert format_of(head) is expected


def test_frames_of_mpeg_2_are_measured_by_their_own_table() -> None:
    """MPEG 2 has other bitrates and half the samples, so its second frame has another place."""
    frame = MPEG_2_FRAME[:104]

    assert format_of(frame + frame) is AudioFormat.MP3
    assert format_of(frame + b"no sync here") is AudioFormat.UNKNOWN


@pytest.mark.parametrize(
    ("codes", "size"), [(0x14, 768), (0x54, 834), (0x55, 836), (0x94, 1152), (0x00, 128), (0x24, 2560), (0x25, 2560)]
)
def test_frames_of_ac3_are_measured_by_rate_and_bitrate(codes: int, size: int) -> None:
    """The next frame must begin where this one ends; at 44.1 kHz every other size has a word more (ETSI TS 102 366)."""
    frame = b"\x0b\x77\x00\x00" + bytes([codes, 0x40]) + bytes(size - 6)

    assert unlisted_audio(frame * 2) == "AC-3"
    assert unlisted_audio(frame + b"\0\0" + frame) is None


AC3_FRAME = b"\x0b\x77\x00\x00\x14\x40" + bytes(762)
"""192 kbit/s at 48 kHz: 768 bytes."""
EAC3_FRAME = b"\x0b\x77\x01\x7f\x34\x86" + bytes(762)


@pytest.mark.parametrize(
    ("front", "words"),
    [
        (b"wvpk\x80\x01\x00\x00\x10\x04", "WavPack"),
        (b"DSD \x1c\x00\x00\x00\x00\x00\x00\x00", "DSF"),
        (b"FRM8\x00\x00\x00\x00\x00\x01\x00\x00DSD FVER", "DSDIFF"),
        (b"MPCKSH\x0f\x01\x02", "Musepack"),
        (b"MP+\x07\x5a\x01\x00\x00", "Musepack"),
        (b"TTA1\x01\x00\x02\x00\x10\x00", "True Audio (TTA)"),
        (b"MAC \x96\x0f\x00\x00\x34\x00", "Monkey's Audio"),
        (b"\x1aE\xdf\xa3\x9fB\x86\x81\x01", "Matroska or WebM"),
        (AC3_FRAME, "AC-3"),
        (AC3_FRAME * 2, "AC-3"),
        (EAC3_FRAME * 2, "AC-3"),
        (b"\xff\xf1\x50\x80", "AAC without a container"),
        (b"\xff\xfd\x84\x04", "MPEG audio of layer II"),
        (AC3_FRAME[:5], None),
        (AC3_FRAME + b"no second frame", None),
        (b"\x0b\x77\x00\x00\xc0\x40" + bytes(2000), None),  # a reserved sample rate
        (b"\x0b\x77\x00\x00\x26\x40" + bytes(2000), None),  # a reserved frame size
        (b"\x0b\x77\x00\x00\x14\xf8" + bytes(2000), None),  # a version that does not exist
        (b"MAC addresses of the studio\n", None),
        (b"DSD masters of 2026\n", None),
        ("\ufeffaudio".encode("utf-16-le"), None),
        (b"%PDF-1.7", None),
        (b"", None),
    ],
)
def test_audio_that_the_contract_does_not_list_is_told_from_other_files(front: bytes, words: str | None) -> None:
    """A file of it in a folder is a row with a reason; a file of another kind is no row."""
    assert unlisted_audio(front) == words


@given(st.binary(max_size=5000), st.booleans())
def test_any_bytes_have_a_format(head: bytes, tagged: bool) -> None:
    """No content raises an error."""
    assert format_of(head, tagged=tagged) in AudioFormat


@example(b"RIFF", b"ftyp", b"")
@given(st.sampled_from([b"RIFF", b"RIFX"]), st.binary(min_size=4, max_size=4), st.binary(max_size=100))
def test_a_wav_is_recognised_whatever_its_size_field_says(mark: bytes, size: bytes, rest: bytes) -> None:
    """A recorder that crashes leaves a wrong size, and the file is still a WAV."""
    assert format_of(mark + size + b"WAVE" + rest) is AudioFormat.WAV


@given(st.lists(st.integers(0, 300), max_size=200))
def test_tags_in_a_row_are_all_counted(sizes: list[int]) -> None:
    """The audio begins after all tags."""
    tags = b"".join(id3_tag(size) for size in sizes)

    assert tag_bytes(tags + b"fLaC") == len(tags)


def test_a_tags_footer_is_part_of_it() -> None:
    """ID3v2.4 may repeat its header after the tag; the audio begins after that."""
    tag = b"ID3\x04\x00\x10\x00\x00\x00\x05" + bytes(5) + b"3DI\x04\x00\x10\x00\x00\x00\x05"

    assert tag_bytes(tag) == len(tag)
    assert format_of(tag + b"fLaC") is AudioFormat.FLAC


@given(st.binary(max_size=200))
def test_a_tag_never_ends_before_it_begins(head: bytes) -> None:
    """The offset of the audio is not negative, also if a tag is cut off."""
    assert tag_bytes(head) >= 0
