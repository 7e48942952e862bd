"""A sidecar is found by its name, and what is no audio by name and content."""

from collections.abc import Sequence
from pathlib import Path
from unicodedata import normalize

import pytest

from proofsweep.domain.tags import own_pattern
from proofsweep.files.files import Files
from proofsweep.sources.pairing import why_no_audio
from proofsweep.sources.sidecars import SidecarNames, Sidecars

NFC, NFD = normalize("NFC", "é"), normalize("NFD", "é")
DEFAULT = ("{name}.sidecar", "{stem}.sidecar")


def sidecars(audio: Sequence[str], found: Sequence[str], patterns: Sequence[str] = DEFAULT) -> Sidecars:
    return Sidecars(SidecarNames(patterns), found, audio)


@pytest.mark.parametrize(
    ("audio", "found", "expected"),
    [
        ("a.wav", ["a.sidecar"], "a.sidecar"),
        ("a.wav", ["a.sidecar", "a.wav.sidecar"], "a.wav.sidecar"),
        ("a.wav", ["b.sidecar"], None),
        ("a.wav", ["A.wav.sidecar"], "A.wav.sidecar"),
        ("a.wav", ["A.wav.sidecar", "a.Sidecar", "a.wav.SIDECAR"], "A.wav.sidecar"),
        (f"{NFC}.wav", [f"{NFD}.wav.sidecar"], f"{NFD}.wav.sidecar"),  # an archive may change the form of a name
        (f"{NFD}.wav", [f"{NFC}.wav.sidecar"], f"{NFC}.wav.sidecar"),
        ("noextension", ["noextension.sidecar"], "noextension.sidecar"),
        ("{stem}.wav", ["{stem}.wav.sidecar"], "{stem}.wav.sidecar"),
    ],
)
def test_the_first_pattern_that_matches_names_the_sidecar(audio: str, found: list[str], expected: str | None) -> None:
    """The patterns are tried in order, each in any case where the very name is not there."""
    assert sidecars([audio], found).of_audio.get(audio) == expected


@pytest.mark.parametrize(
    ("name", "is_one"),
    [("a.wav.proof", True), ("A.WAV.PROOF", True), ("proof-of-a", True), (".proof", False), ("a.wav", False)],
)
def test_a_pattern_may_add_text_before_or_after_the_name(name: str, is_one: bool) -> None:
    """The text around the placeholder marks a sidecar; the placeholder must not be empty."""
    assert SidecarNames(["{name}.proof", "proof-of-{stem}"]).covers(name) is is_one


@pytest.mark.parametrize(
    ("audio", "found", "expected"),
    [
        (["s.mp3", "s.wav"], ["s.mp3.sidecar", "s.sidecar"], {"s.mp3": "s.mp3.sidecar", "s.wav": "s.sidecar"}),
        (["s.mp3", "s.mp3.wav"], ["s.mp3.sidecar"], {"s.mp3": "s.mp3.sidecar"}),
        (
            [f"{NFC}.wav", f"{NFD}.mp3"],
            [f"{NFC}.sidecar", f"{NFD}.sidecar"],
            {f"{NFC}.wav": f"{NFC}.sidecar", f"{NFD}.mp3": f"{NFD}.sidecar"},
        ),
    ],
)
@pytest.mark.parametrize("patterns", [DEFAULT, DEFAULT[::-1]])
def test_a_full_name_says_whose_a_sidecar_is(
    audio: list[str], found: list[str], expected: dict[str, str], patterns: Sequence[str]
) -> None:
    """It goes before a stem, in whatever order the patterns are given."""
    folder = sidecars(audio, found, patterns)

    assert (folder.of_audio, folder.contested, folder.orphans) == (expected, {}, [])


@pytest.mark.parametrize(
    ("audio", "found", "expected"),
    [
        (["a.wav", "A.wav"], "a.wav.sidecar", {"a.wav": "a.wav.sidecar"}),
        (["a.wav", "A.wav"], "A.wav.sidecar", {"A.wav": "A.wav.sidecar"}),
        ([f"{NFC}.wav", f"{NFD}.wav"], f"{NFD}.wav.sidecar", {f"{NFD}.wav": f"{NFD}.wav.sidecar"}),
        ([f"{NFC}.wav", f"{NFC}.WAV"], f"{NFD}.wav.sidecar", {f"{NFC}.wav": f"{NFD}.wav.sidecar"}),
    ],
)
def test_a_full_name_belongs_to_the_one_file_that_has_it(
    audio: list[str], found: str, expected: dict[str, str]
) -> None:
    """Not to another that differs from it in case or form of Unicode, which is then on its own."""
    folder = sidecars(audio, [found])

    assert (folder.of_audio, folder.contested, folder.orphans) == (expected, {}, [])


@pytest.mark.parametrize("audio", [["s.mp3", "s.wav", "s.aiff"], [f"{NFC}.wav", f"{NFD}.mp3"]])
def test_a_sidecar_that_several_claim_is_nobodys(audio: list[str]) -> None:
    """Not even of the one whose name has the same Unicode form: a stem says too little."""
    sidecar = normalize("NFC", audio[0].partition(".")[0]) + ".sidecar"

    folder = sidecars(audio, [sidecar])

    assert (folder.of_audio, folder.orphans) == ({}, [])
    assert folder.contested == dict.fromkeys(audio, sidecar)


@pytest.mark.parametrize(
    ("needy", "of_audio", "contested", "orphans"),
    [
        ({"s.mp3"}, {"s.mp3": "s.sidecar"}, {}, []),
        (set(), {}, {}, ["s.sidecar"]),
        ({"s.mp3", "s.aiff"}, {}, {"s.mp3": "s.sidecar", "s.aiff": "s.sidecar"}, []),
    ],
)
def test_audio_that_needs_no_sidecar_leaves_it_to_the_others(
    needy: set[str], of_audio: dict[str, str], contested: dict[str, str], orphans: list[str]
) -> None:
    """Of a WAV with a credential of its own it is known so; only files that claim the same one are looked into."""
    asked, audio = set[str](), ["a.wav", "s.wav", "s.mp3", "s.aiff"]

    folder = Sidecars(SidecarNames(DEFAULT), ["s.sidecar"], audio, lambda name: asked.add(name) or name in needy)

    assert asked == {*audio[1:]}
    assert (folder.of_audio, folder.contested, folder.orphans) == (of_audio, contested, orphans)


@pytest.mark.parametrize(
    "pattern", ["", "{name}", "{stem}{name}", "{stem}.{stem}", "proofs/{name}.p", "{name.p", "a}{name}"]
)
def test_a_pattern_that_names_every_file_or_none_is_refused(pattern: str) -> None:
    """A sidecar lies beside its audio, under a name of its own: one placeholder, and more text before or after it."""
    for good in ("{name}.sidecar", "{stem}.sidecar", "proof of {stem}", ".{name}", "{stem}_p.json"):
        assert own_pattern(good) == good
    with pytest.raises(ValueError, match=r"must be \{name\} or \{stem\}, once"):
        own_pattern(pattern)


@pytest.mark.parametrize(
    ("name", "brand", "track", "is_row"),
    [
        ("a.mp4", b"isom", b"soun", True),
        ("a.mp4", b"isom", b"vide", False),
        ("a.mp4", b"M4A ", b"vide", True),  # pictures as chapters
        ("a.mov", b"qt  ", b"vide", False),
        ("a.bin", b"isom", b"vide", False),
        ("a.bin", b"isom", b"soun", True),
        ("a.m4a", b"isom", b"vide", True),  # its name says that it is audio
    ],
)
def test_a_film_is_no_audio(tmp_path: Path, name: str, brand: bytes, track: bytes, *, is_row: bool) -> None:
    """Nobody is asked for a WAV in its place."""
    movie = bytes(4) + b"hdlr" + bytes(8) + track + bytes(12)
    boxes = (b"\0\0\0\x10ftyp" + brand + bytes(4), b"\0\0\0\x0cmdat" + bytes(4), b"\0\0\0\x28moov" + movie)
    (tmp_path / name).write_bytes(b"".join(boxes))

    assert (why_no_audio(str(tmp_path / name), Files()) is None) == is_row
