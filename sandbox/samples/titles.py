"""Titles: file names that people use and that programs often handle wrongly. Pure."""

import unicodedata

_TITLES = (
    "Intro",
    "Night Drive",
    "100% Pure",
    "Take #9",
    "Don't Look",
    'The "Real" One',
    unicodedata.normalize("NFC", "Señorita Café"),
    unicodedata.normalize("NFD", "Überhöhe Naïve"),
    "夜明けの歌",
    "Two  Spaces",
    "A & B; C = D",
    "50%25 Off",
    "Что это",
    "Smile 😀",
    "[Brackets] {Braces} (Live)",
    "Comma, Semicolon",
    "Ends with dot.",
    "question mark",
    "back\\slash",
    "~tilde + plus",
)
_RELEASES = ("First Light", "Déjà Vu", "Volume #2", "B-Sides & Rarities", "Live at 99%", "静かな海")
# Chosen: files per folder, as on an album.
_TRACKS = 12


def folder_of(at: int) -> str:
    """Return the folder name of the sample with this number."""
    release = at // _TRACKS
    return f"{release + 1:03d} {_RELEASES[release % len(_RELEASES)]}"


def stem_of(at: int) -> str:
    """Return the file name of the sample with this number, without its suffix; it is unique in its folder."""
    return f"{at % _TRACKS + 1:02d} {_TITLES[at % len(_TITLES)]}"
