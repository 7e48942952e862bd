"""Real files that nobody here made: each has a format, the one that other programs see too."""

import hashlib
import io
import os
from pathlib import Path

import pytest
import soundfile
import tinytag

from proofsweep.catalog.folder_scan import FolderScan
from proofsweep.catalog.pairing import SidecarNames
from proofsweep.files.audio import open_audio
from proofsweep.files.local_files import LocalFiles
from proofsweep.model.formats import AudioFormat

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
