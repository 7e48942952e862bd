"""Audio is read whole, once, and the same to its last byte."""

import hashlib
import io
import os
from pathlib import Path

import pytest
import soundfile
import tinytag

from proofsweep.domain.errors import SourceError
from proofsweep.domain.reasons import Reason
from proofsweep.sources.audio import PIECE_BYTES, open_audio, read_sidecar
from proofsweep.sources.folder import FolderScan
from proofsweep.sources.formats import AudioFormat
from proofsweep.sources.local import LocalFiles
from proofsweep.sources.names import SidecarNames

WAVE = b"RIFF\x24\x00\x00\x00WAVEfmt "
SIZES = [len(WAVE), PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES]


def wave_of(size_bytes: int) -> bytes:
    """Make so many bytes that begin as a WAV."""
    return (WAVE + os.urandom(size_bytes))[:size_bytes]


@pytest.mark.parametrize("size_bytes", SIZES)
def test_the_pieces_are_the_file_and_are_hashed_on_the_way(tmp_path: Path, size_bytes: int) -> None:
    """What was sent is known by its digest without reading it again."""
    content = wave_of(size_bytes)
    (tmp_path / "a.wav").write_bytes(content)

    with open_audio(str(tmp_path / "a.wav")) as audio:
        sent = b"".join(audio.chunks())

        assert audio.audio_format is AudioFormat.WAV
        assert audio.facts == LocalFiles().facts(str(tmp_path / "a.wav"))
        assert sent == content
        assert audio.sha256 == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize("new_size", [PIECE_BYTES, 2 * PIECE_BYTES, 3 * PIECE_BYTES])
def test_a_file_that_changes_meanwhile_never_ends_well(tmp_path: Path, new_size: int) -> None:
    """Shorter, longer, or other bytes in the same place: the last piece is withheld, so no upload is complete."""
    file = tmp_path / "a.wav"
    file.write_bytes(wave_of(2 * PIECE_BYTES))

    with open_audio(str(file)) as audio:
        pieces = audio.chunks()
        sent = len(next(pieces))
        file.write_bytes(wave_of(new_size))
        os.utime(file, ns=(0, 0))

        with pytest.raises(SourceError) as changed:
            next(pieces)

    assert changed.value.reason == Reason.SOURCE_CHANGED
    assert sent < audio.facts.size_bytes


def test_a_file_that_is_replaced_is_read_as_it_was_opened(tmp_path: Path) -> None:
    """A new delivery under the same name does not mix with the old one's bytes."""
    file, newer = tmp_path / "a.wav", tmp_path / "newer"
    file.write_bytes(wave_of(100))
    newer.write_bytes(b"other")

    with open_audio(str(file)) as audio:
        newer.replace(file)

        assert len(b"".join(audio.chunks())) == 100


def test_missing_audio_is_told_from_unreadable(tmp_path: Path) -> None:
    """Each is a reason of its own, as a person mends them differently."""
    os.mkfifo(tmp_path / "fifo.wav")

    with pytest.raises(SourceError) as missing:
        open_audio(str(tmp_path / "gone.wav"))
    with pytest.raises(SourceError) as unreadable:
        open_audio(str(tmp_path / "fifo.wav"))

    assert (missing.value.reason, unreadable.value.reason) == (Reason.MISSING_AUDIO, Reason.UNREADABLE_FILE)


def test_a_sidecar_is_read_up_to_its_bound(tmp_path: Path) -> None:
    """The bound itself still passes."""
    (tmp_path / "a.sidecar").write_bytes(b"proof")

    assert read_sidecar(str(tmp_path / "a.sidecar"), most_bytes=5) == b"proof"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("gone", Reason.MISSING_SIDECAR),
        ("empty", Reason.MISSING_SIDECAR),
        ("large", Reason.SIDECAR_TOO_LARGE),
        ("folder", Reason.UNREADABLE_FILE),
    ],
)
def test_a_sidecar_that_cannot_be_sent_says_why(tmp_path: Path, name: str, reason: Reason) -> None:
    """Nothing there, nothing in it, too much in it, or no file at all."""
    (tmp_path / "empty").touch()
    (tmp_path / "large").write_bytes(bytes(6))
    (tmp_path / "folder").mkdir()

    with pytest.raises(SourceError) as refused:
        read_sidecar(str(tmp_path / name), most_bytes=5)

    assert refused.value.reason == reason


@pytest.mark.parametrize(
    ("content", "is_cut"),
    [
        (b"RIFF\x28\0\0\0WAVE" + bytes(35), True),
        (b"RIFF\x28\0\0\0WAVE" + bytes(36), False),
        (b"RIFF\x28\0\0\0WAVE" + bytes(99), False),
        (b"FORM\0\0\0\x28AIFF" + bytes(35), True),
        (b"FORM\0\0\0\x28AIFF" + bytes(36), False),
        (b"RIFF\xff\xff\xff\xffWAVE", False),
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


def test_a_file_is_compared_with_its_declared_digest_once(tmp_path: Path) -> None:
    """By a pass of its own, or while it is sent; the sha256 of what is sent is made of each pass."""
    (tmp_path / "a.wav").write_bytes(b"RIFF")
    with open_audio(str(tmp_path / "a.wav")) as audio:
        audio.declared = ("md5", hashlib.new("md5", b"RIFF", usedforsecurity=False).hexdigest())
        audio.read_as_declared()

        assert (audio.declared, audio.sha256) == (None, None)
        audio.read_as_declared()
        assert audio.read_through() == hashlib.sha256(b"RIFF").hexdigest()


@pytest.mark.parametrize("declared", [("sha512", "0" * 128), ("sha256", "0" * 64)])
def test_a_file_with_another_digest_gives_no_last_piece(tmp_path: Path, declared: tuple[str, str]) -> None:
    """So no storage target has the whole of it; the error names both digests."""
    (tmp_path / "a.wav").write_bytes(b"RIFF")
    with open_audio(str(tmp_path / "a.wav")) as audio:
        audio.declared = declared

        with pytest.raises(SourceError) as raised:
            next(audio.chunks())

    assert raised.value.reason == Reason.DAMAGED_IN_DELIVERY
    assert declared[1] in raised.value.message
    assert hashlib.new(declared[0], b"RIFF").hexdigest() in raised.value.message


OF_SOUNDFILE = {
    "WAV": AudioFormat.WAV,
    "WAVEX": AudioFormat.WAV,
    "RF64": AudioFormat.RF64,
    "AIFF": AudioFormat.AIFF,
    "CAF": AudioFormat.CAF,
    "FLAC": AudioFormat.FLAC,
    "OGG": AudioFormat.OGG,
}
OF_TINYTAG = {
    "Wave": AudioFormat.WAV,
    "Aiff": AudioFormat.AIFF,
    "MP4": AudioFormat.M4A,
    "Flac": AudioFormat.FLAC,
    "Ogg": AudioFormat.OGG,
    "ID3": AudioFormat.MP3,
    "MPEG": AudioFormat.MP3,
}
WE_KNOW_BETTER = {
    "magic_bytes_only_id3.x": "three letters of a tag's mark, and no tag",
    "magic_bytes_only_mp3.x": "a frame's sync, and no frame",
}


@pytest.fixture
def corpus() -> Path:
    """The folder of real files, where the environment names one."""
    if "PROOFSWEEP_CORPUS" not in os.environ:
        pytest.skip("needs real audio files: set PROOFSWEEP_CORPUS to a folder of them")
    return Path(os.environ["PROOFSWEEP_CORPUS"])


def seen_by_others(file: Path) -> AudioFormat | None:
    """Ask libsndfile, and where it cannot read the file, tinytag; None where neither can."""
    try:
        info = soundfile.info(str(file))
    except soundfile.LibsndfileError:
        return seen_by_tinytag(file)
    if info.format == "MP3":  # its word for all layers of MPEG, of which only the third is MP3
        return AudioFormat.MP3 if info.subtype == "MPEG_LAYER_III" else AudioFormat.UNKNOWN
    return OF_SOUNDFILE.get(info.format, AudioFormat.UNKNOWN)


def seen_by_tinytag(file: Path) -> AudioFormat | None:
    """Ask tinytag for the content alone; it goes by the name when it knows one."""
    try:
        tag = tinytag.TinyTag.get(file_obj=io.BytesIO(file.read_bytes()))
    except tinytag.TinyTagException:
        return None
    return OF_TINYTAG.get(type(tag).__name__.strip("_"), AudioFormat.UNKNOWN)


def test_other_programs_see_the_same_formats(corpus: Path) -> None:
    """Where libsndfile or tinytag can read a file, its format is the one that we tell, but for what we looked into."""
    differing = {}

    for file in filter(Path.is_file, corpus.rglob("*")):
        with open_audio(str(file)) as audio:
            other = seen_by_others(file)
            if other not in (None, audio.audio_format):
                differing[file.name] = (audio.audio_format, other)

    assert differing.keys() == WE_KNOW_BETTER.keys(), differing


def test_every_file_can_be_sent_as_it_is(corpus: Path) -> None:
    """Broken, empty or strange: the bytes that are given are the file's."""
    rows = list(FolderScan(str(corpus), LocalFiles(), SidecarNames([])).rows())

    assert len(rows) > 150
    for row in rows:
        assert row.audio is not None
        with open_audio(row.audio) as audio:
            sent = hashlib.sha256(b"".join(audio.chunks())).hexdigest()
            assert sent == audio.sha256 == hashlib.sha256(Path(row.audio).read_bytes()).hexdigest()
            assert audio.facts == row.audio_facts


def test_credentials_are_found_in_real_files(corpus: Path) -> None:
    """Signed by the C2PA libraries, and the same sound without a signature."""
    signed = next(corpus.rglob("sample1_signed.wav"))
    unsigned = next(corpus.rglob("sample1.wav"))

    with open_audio(str(signed)) as first, open_audio(str(unsigned)) as second:
        assert (first.has_credential(), second.has_credential()) == (True, False)
