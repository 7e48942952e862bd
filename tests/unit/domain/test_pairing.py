"""A sidecar is found by its name."""

from collections.abc import Sequence
from unicodedata import normalize

import pytest

from proofsweep.domain.pairing import SidecarNames, Sidecars

DEFAULT = ("{name}.sidecar", "{stem}.sidecar")


def sidecars(*found: str, patterns: Sequence[str] = DEFAULT) -> Sidecars:
    """Make a folder with these sidecars."""
    return Sidecars(SidecarNames(patterns), found)


@pytest.mark.parametrize(
    ("audio", "found", "expected"),
    [
        ("a.wav", ["a.wav.sidecar"], "a.wav.sidecar"),
        ("a.wav", ["a.sidecar"], "a.sidecar"),
        ("a.wav", ["a.sidecar", "a.wav.sidecar"], "a.wav.sidecar"),
        ("a.wav", ["b.sidecar"], None),
        ("a.wav", ["A.wav.sidecar"], None),
        ("a.b.wav", ["a.b.sidecar"], "a.b.sidecar"),
        ("noextension", ["noextension.sidecar"], "noextension.sidecar"),
        ("{stem}.wav", ["{stem}.wav.sidecar"], "{stem}.wav.sidecar"),
    ],
)
def test_the_first_pattern_that_matches_names_the_sidecar(audio: str, found: list[str], expected: str | None) -> None:
    """The patterns are tried in order, and upper and lower case differ."""
    assert sidecars(*found).claim(audio) == expected


@pytest.mark.parametrize(("of_audio", "of_sidecar"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_another_unicode_form_does_not_separate_a_pair(of_audio: str, of_sidecar: str) -> None:
    """A file system or an archive may change the form of a name."""
    sidecar = normalize(of_sidecar, "Für Élise.wav.sidecar")

    assert sidecars(sidecar).claim(normalize(of_audio, "Für Élise.wav")) == sidecar


def test_an_exact_name_comes_before_one_in_another_unicode_form() -> None:
    """If both forms exist as two files, each audio gets its own."""
    composed, decomposed = (normalize(form, "é.wav.sidecar") for form in ("NFC", "NFD"))

    both = sidecars(composed, decomposed)

    assert both.claim(normalize("NFD", "é.wav")) == decomposed
    assert both.claim(normalize("NFC", "é.wav")) == composed


def test_sidecars_without_audio_are_orphans() -> None:
    """Each is listed once, in order."""
    folder = sidecars("c.sidecar", "a.wav.sidecar", "b.sidecar")

    folder.claim("a.wav")

    assert folder.orphans() == ["b.sidecar", "c.sidecar"]


@pytest.mark.parametrize(
    ("name", "is_one"), [("a.wav.proof", True), ("proof-of-a", True), (".proof", False), ("a.wav", False)]
)
def test_a_pattern_may_add_text_before_or_after_the_name(name: str, is_one: bool) -> None:
    """The text around the placeholder marks a sidecar; the placeholder must not be empty."""
    assert SidecarNames(["{name}.proof", "proof-of-{stem}"]).covers(name) is is_one
