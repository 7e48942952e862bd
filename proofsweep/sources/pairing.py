"""Find the sidecar of each audio file in a folder by name patterns. Pure."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from proofsweep.domain.tags import NAME, STEM
from proofsweep.sources.names import caseless, composed

_FORMS = (str, composed, caseless)
"""How names are compared, one after another: as they are, in one form of Unicode, and without regard to case."""


class SidecarNames:
    """The patterns that name a sidecar after its audio: those of the full name first, then in the order given.

    `{name}` is the audio's file name; `{stem}` is the same without its last extension.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        self.patterns = tuple(sorted(patterns, key=lambda pattern: STEM in pattern))
        plain = map(caseless, self.patterns)
        self._edges = [pattern.partition(STEM if STEM in pattern else NAME) for pattern in plain]

    def covers(self, name: str) -> bool:
        """Return whether a file of this name could be a sidecar, in upper or lower case."""
        plain = caseless(name)
        return any(
            plain.startswith(before) and plain.endswith(after) and len(plain) > len(before) + len(after)
            for before, _, after in self._edges
        )


class Sidecars:
    """The sidecars of one folder, each with the one audio file that it belongs to.

    A full name belongs to one file. If several files share a stem, their sidecar belongs to the only one of them that
    needs one; if there are more, it is nobody's. The very name goes before one that is equal after Unicode
    normalisation (NFC), because file systems and archives change the form, and this before one in another case.
    """

    def __init__(
        self,
        names: SidecarNames,
        found: Iterable[str],
        audio: Iterable[str],
        needs_one: Callable[[str], bool] = lambda _name: True,
    ) -> None:
        """Pair a folder's files; `needs_one` says of an audio file whether it is not verified alone.

        That is asked only of files that claim the same sidecar.
        """
        self.of_audio: dict[str, str] = {}
        self.contested: dict[str, str] = {}  # the sidecar that several audio files claim, for each of them
        self._found = set(found)
        waiting = set(audio) if self._found else set()
        by_form = {form: {form(name): name for name in sorted(self._found, reverse=True)} for form in _FORMS}
        for pattern in names.patterns:
            for form, sidecars in by_form.items():
                if form is not str or STEM not in pattern:  # a stem says too little
                    waiting -= self._settle(self._claims(pattern, waiting, form, sidecars), needs_one)

    def orphans(self) -> list[str]:
        return sorted(self._found - {*self.of_audio.values(), *self.contested.values()})

    def _claims(
        self, pattern: str, audio: Iterable[str], form: Callable[[str], str], sidecars: Mapping[str, str]
    ) -> dict[str, list[str]]:
        """Return the audio files by the sidecar that a pattern names for them, if it is still free."""
        taken = {*self.of_audio.values(), *self.contested.values()}
        claims: dict[str, list[str]] = defaultdict(list)
        for audio_name in audio:
            wanted = _wanted(pattern, audio_name)
            sidecar = wanted if wanted in self._found else sidecars.get(form(wanted))
            if sidecar is not None and sidecar not in taken:
                claims[sidecar].append(audio_name)
        return claims

    def _settle(self, claims: Mapping[str, Sequence[str]], needs_one: Callable[[str], bool]) -> set[str]:
        for sidecar, claimants in claims.items():
            needy = claimants if len(claimants) == 1 else [name for name in claimants if needs_one(name)]
            (self.of_audio if len(needy) == 1 else self.contested).update(dict.fromkeys(needy, sidecar))
        return {name for claimants in claims.values() for name in claimants}


def _wanted(pattern: str, audio_name: str) -> str:
    dot = audio_name.rfind(".")
    stem = audio_name[:dot] if dot > 0 else audio_name
    return pattern.replace(STEM, stem) if STEM in pattern else pattern.replace(NAME, audio_name)
