"""Audio is read whole, once, and the same to its last byte."""

import os
from pathlib import Path

import pytest

from proofsweep.domain.errors import SourceError
from proofsweep.domain.reasons import Reason
from proofsweep.files.audio import PIECE_BYTES, open_audio, read_sidecar


@pytest.mark.parametrize("new_size", [PIECE_BYTES, 2 * PIECE_BYTES, 3 * PIECE_BYTES])
def test_a_file_that_changes_meanwhile_never_ends_well(tmp_path: Path, new_size: int) -> None:
    """Shorter, longer, or other bytes in the same place: the last piece is withheld, so no upload is complete."""
    file = tmp_path / "a.wav"
    file.write_bytes(os.urandom(2 * PIECE_BYTES))

    with open_audio(str(file)) as audio:
        pieces = audio.chunks()
        sent = len(next(pieces))
        file.write_bytes(os.urandom(new_size))
        os.utime(file, ns=(0, 0))

        with pytest.raises(SourceError) as changed:
            next(pieces)

    assert changed.value.reason == Reason.SOURCE_CHANGED
    assert sent < audio.facts.size_bytes


SIDECARS = dict.fromkeys(("gone", "empty"), Reason.MISSING_SIDECAR)
SIDECARS |= {"large": Reason.SIDECAR_TOO_LARGE, "folder": Reason.UNREADABLE_FILE}


@pytest.mark.parametrize(("name", "reason"), SIDECARS.items())
def test_a_sidecar_that_cannot_be_sent_says_why(tmp_path: Path, name: str, reason: Reason) -> None:
    """Nothing there, nothing in it, too much in it, or no file at all; the bound itself still passes."""
    (tmp_path / "empty").touch()
    (tmp_path / "full").write_bytes(bytes(5))
    (tmp_path / "large").write_bytes(bytes(6))
    (tmp_path / "folder").mkdir()

    with pytest.raises(SourceError) as refused:
        read_sidecar(str(tmp_path / name), most_bytes=5)

    assert refused.value.reason == reason
    assert read_sidecar(str(tmp_path / "full"), most_bytes=5) == bytes(5)


@pytest.mark.parametrize(
    ("content", "is_cut"),
    [
        (b"RIFF\x28\0\0\0WAVE" + bytes(35), True),
        (b"RIFF\x28\0\0\0WAVE" + bytes(36), False),
        (b"FORM\0\0\0\x28AIFF" + bytes(35), True),
        (b"RIFF\xff\xff\xff\xffWAVE", False),
        (b"RIFF\xc0\xff\xff\x7fWAVE", False),  # sox, into a pipe
        (b"RIFF\x24\0\0\x80WAVE", False),  # arecord, into a pipe
        (b"RF64\xff\xff\xff\xffWAVEds64\x1c\0\0\0\x48\0\0\0\0\0\0\0" + bytes(51), True),
        (b"RF64\xff\xff\xff\xffWAVEds64\x1c\0\0\0\x48\0\0\0\0\0\0\0" + bytes(52), False),
        (b"BW64\xff\xff\xff\xffWAVEds64\x1c\0\0\0\x48\0\0\0\0\0\0\0" + bytes(51), True),
        (b"RF64\xff\xff\xff\xffWAVE", False),
        (b"RIFF\0\0\0\0WAVE", False),
        (b"RIFF", False),
        (b"ID3\x03" + bytes(20), False),
    ],
)
def test_a_header_that_promises_more_than_there_is_shows_a_cut(tmp_path: Path, content: bytes, *, is_cut: bool) -> None:
    """A size that a writer did not know promises nothing."""
    (tmp_path / "a.wav").write_bytes(content)

    with open_audio(str(tmp_path / "a.wav")) as audio:
        assert audio.is_cut_short() is is_cut
