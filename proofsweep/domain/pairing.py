"""Find the sidecar of each audio file in a folder by name patterns. Pure."""

from collections.abc import Iterable, Sequence
from unicodedata import normalize

NAME = "{name}"
STEM = "{stem}"


class SidecarNames:
    """The patterns that name a sidecar after its audio, in order of preference.

    `{name}` is the audio's file name; `{stem}` is the same without its last extension. Names are also equal if they
    are equal after Unicode normalisation (NFC), because file systems and archives change the form.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = tuple(patterns)
        self._edges = tuple(_edges_of(pattern) for pattern in self._patterns)

    def covers(self, name: str) -> bool:
        """Say whether a file of this name could be a sidecar."""
        return any(
            name.startswith(before) and name.endswith(after) and len(name) > len(before) + len(after)
            for before, after in self._edges
        )

    def wanted_by(self, audio_name: str) -> Iterable[str]:
        """Give the names that this audio's sidecar may have, in order of preference."""
        dot = audio_name.rfind(".")
        stem = audio_name[:dot] if dot > 0 else audio_name
        for pattern in self._patterns:
            yield pattern.replace(STEM, stem) if STEM in pattern else pattern.replace(NAME, audio_name)


class Sidecars:
    """The sidecars of one folder, and which of them belong to an audio file."""

    def __init__(self, names: SidecarNames, found: Iterable[str]) -> None:
        self._names = names
        self._found = set(found)
        self._normal = {normalize("NFC", name): name for name in self._found}
        self._used: set[str] = set()

    def claim(self, audio_name: str) -> str | None:
        """Give the name of the audio's sidecar, None without one. A claimed sidecar is not an orphan."""
        for wanted in self._names.wanted_by(audio_name):
            name = wanted if wanted in self._found else self._normal.get(normalize("NFC", wanted))
            if name is not None:
                self._used.add(name)
                return name
        return None

    def orphans(self) -> list[str]:
        """Give the sidecars that no audio claimed, sorted."""
        return sorted(self._found - self._used)


def _edges_of(pattern: str) -> tuple[str, str]:
    before, _, after = pattern.partition(STEM if STEM in pattern else NAME)
    return before, after
