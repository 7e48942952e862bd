"""Which file of a folder is the sidecar of which audio: a rule of names, made of patterns."""

from collections.abc import Iterable, Sequence
from unicodedata import normalize

NAME = "{name}"
STEM = "{stem}"


class SidecarNames:
    """The patterns by which a sidecar is named after its audio, the most wanted first.

    `{name}` stands for the audio's file name, `{stem}` for the same without its last extension. A name counts as
    equal also when it is so only after Unicode normalisation (NFC), as volumes and archives change the form.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = tuple(patterns)
        self._edges = tuple(_edges_of(pattern) for pattern in self._patterns)

    def covers(self, name: str) -> bool:
        """Say whether a file of this name would be some audio's sidecar."""
        return any(
            name.startswith(before) and name.endswith(after) and len(name) > len(before) + len(after)
            for before, after in self._edges
        )

    def wanted_by(self, audio_name: str) -> Iterable[str]:
        """Give the names that this audio's sidecar may have, the most wanted first."""
        dot = audio_name.rfind(".")
        stem = audio_name[:dot] if dot > 0 else audio_name
        for pattern in self._patterns:
            yield pattern.replace(STEM, stem) if STEM in pattern else pattern.replace(NAME, audio_name)


class Sidecars:
    """The sidecars of one folder, and which of them an audio has asked for."""

    def __init__(self, names: SidecarNames, found: Iterable[str]) -> None:
        self._names = names
        self._found = set(found)
        self._normal = {normalize("NFC", name): name for name in self._found}
        self._used: set[str] = set()

    def claim(self, audio_name: str) -> str | None:
        """Give the name of the audio's sidecar, None without one; it is no orphan from then on."""
        for wanted in self._names.wanted_by(audio_name):
            name = wanted if wanted in self._found else self._normal.get(normalize("NFC", wanted))
            if name is not None:
                self._used.add(name)
                return name
        return None

    def orphans(self) -> list[str]:
        """Give the names that no audio has claimed, sorted."""
        return sorted(self._found - self._used)


def _edges_of(pattern: str) -> tuple[str, str]:
    before, _, after = pattern.partition(STEM if STEM in pattern else NAME)
    return before, after
