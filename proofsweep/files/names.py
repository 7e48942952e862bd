"""What names of files say: which are one, and which are audio. Pure."""

from unicodedata import normalize

_PCM = {".wav", ".wave", ".bwf", ".rf64", ".bw64", ".w64", ".aif", ".aiff", ".aifc", ".afc", ".caf", ".au", ".snd"}
_CODED = {".mp3", ".m4a", ".m4b", ".mp4", ".flac", ".ogg", ".oga", ".opus", ".mp2", ".aac", ".alac", ".wma", ".ape"}
_UNLISTED = {".wv", ".dsf", ".dff", ".mpc", ".tta", ".ofr", ".mka", ".ac3", ".eac3", ".ec3", ".dts", ".amr"}
_AUDIO_EXTENSIONS = frozenset(_PCM | _CODED | _UNLISTED)

_WAVE_EXTENSIONS = frozenset({".wav", ".wave", ".bwf", ".rf64", ".bw64"})
_PAIR_EXTENSIONS = _WAVE_EXTENSIONS | {".aif", ".aiff", ".aifc", ".afc", ".caf", ".mp3", ".m4a", ".m4b", ".mp4"}

_ARCHIVES = (".zip", ".tar", ".tgz", ".tar.gz", ".rar", ".7z")


def composed(name: str) -> str:
    """Return the one form of Unicode in which names are compared (NFC): file systems and archives change it."""
    if name.isascii():
        return name
    return normalize("NFC", name)


def caseless(name: str) -> str:
    """Return the same text for names that differ only in case or in their form of Unicode."""
    if name.isascii():
        return name.lower()
    return composed(composed(name).casefold())


def is_hidden_name(name: str) -> bool:
    """Whether what has this name is hidden from listings: labels have names that begin with two dots and more."""
    return name.startswith(".") and not name.startswith("..")


def is_audio_name(path: str) -> bool:
    return _extension(path) in _AUDIO_EXTENSIONS


def may_be_video(path: str) -> bool:
    """Whether the name is one that audio and videos have."""
    return path.lower().endswith(".mp4")


def is_archive_name(path: str) -> bool:
    return path.lower().endswith(_ARCHIVES)


def is_wave_name(path: str) -> bool:
    """Whether a file may be sent alone, by its name."""
    return _extension(path) in _WAVE_EXTENSIONS


def is_pair_name(path: str) -> bool:
    """Whether a file may be sent with a sidecar, by its name."""
    return _extension(path) in _PAIR_EXTENSIONS


def _extension(path: str) -> str:
    # As `posixpath.splitext` has it, which takes four times as long: lists are asked this of each row.
    stem, _, ending = path.rpartition(".")
    name = stem.rpartition("/")[2]
    if not name.strip("."):  # dots at its beginning only hide a file
        return ""
    return f".{ending.lower()}"
