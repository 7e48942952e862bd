"""Where there is any doubt, a WAV may carry a credential; the C2PA library is asked about real files."""

from pathlib import Path

import pytest
from c2pa import C2paError, Reader  # type: ignore[import-untyped]  # ships no type marker

from proofsweep.files.formats import Credential, credential_in

DS64 = (0).to_bytes(8, "little") + (99_999).to_bytes(8, "little") + bytes(12)
FMT = b"fmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0"


def chunk(name: bytes, content: bytes) -> bytes:
    return name + len(content).to_bytes(4, "little") + content + bytes(len(content) % 2)


def wav(*chunks: bytes, magic: bytes = b"RIFF", riff_size: int | None = None) -> bytes:
    """Make a WAV of a format, some audio and more chunks; by default its header says how large it is."""
    content = b"WAVE" + FMT + chunk(b"data", bytes(8)) + b"".join(chunks)
    return magic + (len(content) if riff_size is None else riff_size).to_bytes(4, "little") + content


def seen(content: bytes) -> Credential:
    return credential_in(lambda most, offset: content[offset : offset + most], len(content))


@pytest.mark.parametrize(
    "content",
    [
        wav(),
        wav(chunk(b"LIST", b"INFOISFT\x04\0\0\0us\0\0"), chunk(b"bext", bytes(602))),
        wav(chunk(b"id3 ", b"ID3\3\0\0\0\0\0\x0bTIT2\0\0\0\1\0\0a")),
        wav(chunk(b"LIST", b"odd")),
        wav(chunk(b"LIST", b"odd"))[:-1].replace(b"RIFF\x38", b"RIFF\x37"),
        b"RIFF\x32\0\0\0WAVE" + chunk(b"JUNK", bytes(4)) + FMT[:24] + chunk(b"data", b"12") + b"",
        wav(chunk(b"JUNK", bytes(1024 * 1024))),
    ],
)
def test_a_whole_wav_of_known_chunks_carries_none(content: bytes) -> None:
    """Text, padding and tags hold no manifest; a last chunk of odd size may lack its padding."""
    assert seen(content) is Credential.NONE


@pytest.mark.parametrize(
    "content",
    [
        b"",
        wav()[:-1],
        wav() + b"TAG" + bytes(125),
        wav(riff_size=0),
        b"ID3\3\0\0\0\0\0\0" + wav(),
        wav(chunk(b"PRUF", b"a seal of its own")),
        b"RIFF\x1c\0\0\0WAVE" + FMT,
        wav(chunk(b"LIST", b"INFOICMT\x0c\0\0\0see the C2PA.")),
        wav(chunk(b"iXML", "<PROVENANCE/>".encode("utf-16-le"))),
        wav(chunk(b"bext", b"<rdf:RDF xmlns:dcterms='http://purl.org/dc/terms/'>")),
        wav(chunk(b"id3 ", b"ID3\4\0\0\0\0\0\x0bGEOB\0\0\0\1\0\0a")),
        wav(chunk(b"id3 ", b"ID3\2\0\0\0\0\0\x0bGEO\0\0\1\0")),
        wav(chunk(b"JUNK", bytes(1024 * 1024 + 1))),
        b"RF64\0\0\0\0WAVE" + chunk(b"ds64", b"\xff" * 28) + b"data\xff\xff\xff\xff" + chunk(b"C2PA", b""),
        wav(*[chunk(b"JUNK", b"")] * 120, chunk(b"C2PA", b"manifest")),
        wav(chunk(b"LIST", chunk(b"C2PA", b"manifest"))),
        b"RIFF\0\0\0\0AVI " + chunk(b"C2PA", b"manifest"),
    ],
)
def test_where_there_is_doubt_it_may_carry_one(content: bytes) -> None:
    """Cut, appended to, of another size, of an unknown chunk, or with anything that speaks of a manifest."""
    assert seen(content) is Credential.UNKNOWN


@pytest.mark.parametrize(
    "content",
    [
        wav(chunk(b"C2PA", b"manifest")),
        b"BW64\0\0\0\0WAVE" + chunk(b"ds64", DS64) + b"data\xff\xff\xff\xff" + bytes(100_000) + chunk(b"C2PA", b"m"),
        wav(magic=b"RF64", riff_size=0xFFFFFFFF) + chunk(b"C2PA", b"manifest"),
        wav(chunk(b"id3 ", bytes(500_000) + b"\0\0\0\x20jumb\0\0\0\x18jumdc2pa\0")),
        wav(chunk(b"_PMX", b"<rdf:Description dcterms:provenance='https://proofs.example/1.c2pa'/>")),
    ],
)
def test_a_manifest_is_found(content: bytes) -> None:
    """In the chunk of its own, or in another one; the file need not be whole."""
    assert seen(content) is Credential.FOUND


def has_no_manifest(file: Path) -> bool:
    """Ask the C2PA library whether it read the file and found nothing."""
    try:
        with file.open("rb") as stream, Reader("audio/wav", stream):
            return False
    except C2paError as error:
        return "ManifestNotFound" in str(error)


def test_the_c2pa_library_finds_none_either(corpus: Path) -> None:
    """Of all real files, each that is called bare is read by the library, which finds no manifest in it."""
    bare = [file for file in corpus.rglob("*") if file.is_file() and seen(file.read_bytes()) is Credential.NONE]

    assert len(bare) > 20
    assert [file.name for file in bare if not has_no_manifest(file)] == []


def test_a_signed_file_is_never_called_bare_however_it_is_cut(corpus: Path) -> None:
    """Every end of a delivery that broke off, near each chunk and through all of the manifest."""
    content = next(corpus.rglob("100kb-signed.wav")).read_bytes()
    start = content.index(b"C2PA")

    ends = [*range(60), *range(start - 20, len(content), 61), len(content) - 1, len(content)]
    assert {seen(content[:end]) for end in ends} == {Credential.UNKNOWN, Credential.FOUND}
