"""Which sidecar belongs to which audio file of a folder, by their names. Pure."""

import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from proofsweep.domain.tags import NAME, STEM
from proofsweep.files.names import caseless, composed

_NOTHING = "(?!)"  # as a pattern


class SidecarNames:
    """The patterns that name a sidecar after its audio: those of the full name first, then in the order given.

    `{name}` is the audio's file name; `{stem}` is the same without its last extension.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        self.patterns = tuple(sorted(patterns, key=lambda pattern: STEM in pattern))
        forms = list[str]()
        for pattern in self.patterns:
            escaped = re.escape(caseless(pattern))
            forms.append(re.sub(r"\\{(name|stem)\\}", ".+", escaped))
        self._any = re.compile("|".join(forms) or _NOTHING, re.DOTALL)

    def covers(self, name: str) -> bool:
        """Return whether a file of this name could be a sidecar, in upper or lower case."""
        return self._any.fullmatch(caseless(name)) is not None


class Sidecars:
    """The sidecars of one folder, each with the one audio file that it belongs to.

    A full name belongs to one file: to the one that has it exactly, if others differ from it in case or in their form
    of Unicode. If several files share a stem, their sidecar belongs to the only one of them that needs one; if there
    are more, it is nobody's. The very name goes before one in another case or form of Unicode.
    """

    def __init__(
        self,
        names: SidecarNames,
        sidecars: Iterable[str],
        audio: Iterable[str],
        needs_one: Callable[[str], bool] = lambda _name: True,
    ) -> None:
        """Pair a folder's files; `needs_one` says of an audio file whether it is not verified alone.

        That is asked only of files that claim the same sidecar.
        """
        self.of_audio: dict[str, str] = {}
        self.contested: dict[str, str] = {}  # the sidecar that several audio files claim, for each of them
        self._sidecars = set(sidecars)
        self._free = set(self._sidecars)
        # Of two that differ in case alone, the first in order counts for both.
        self._by_caseless = {caseless(name): name for name in sorted(self._sidecars, reverse=True)}
        waiting = set(audio) if self._sidecars else set()
        for pattern in names.patterns:
            for sidecar, claimants in self._claims(pattern, waiting).items():
                owners = claimants
                if STEM not in pattern:
                    owners = _with_the_name(pattern, sidecar, claimants)
                waiting.difference_update(owners)
                self._give(sidecar, owners, needs_one)
        self.orphans = sorted(self._free)

    def _claims(self, pattern: str, waiting: Iterable[str]) -> Mapping[str, list[str]]:
        """Return the sidecars that a pattern names, each with the audio files that claim it."""
        claims: dict[str, list[str]] = defaultdict(list)
        for audio_name in waiting:
            name = _sidecar_name(pattern, audio_name)
            sidecar = name if name in self._sidecars else self._by_caseless.get(caseless(name))
            if sidecar in self._free:
                claims[sidecar].append(audio_name)
        return claims

    def _give(self, sidecar: str, owners: list[str], needs_one: Callable[[str], bool]) -> None:
        # Of several, only the one that is not verified alone needs the sidecar. It is looked into only then.
        needy = owners
        if len(owners) > 1:
            needy = [name for name in owners if needs_one(name)]
        if needy:
            self._free.remove(sidecar)
        if len(needy) == 1:
            self.of_audio[needy[0]] = sidecar
        else:
            self.contested.update(dict.fromkeys(needy, sidecar))


def _sidecar_name(pattern: str, audio_name: str) -> str:
    if STEM in pattern:
        stem, _ = posixpath.splitext(audio_name)
        return pattern.replace(STEM, stem)
    return pattern.replace(NAME, audio_name)


def _with_the_name(pattern: str, sidecar: str, claimants: list[str]) -> list[str]:
    """Return the one file whose full name a sidecar has, exactly or at least in its case; else all that claim it."""
    # Files of one folder may differ in case or in their form of Unicode alone. Their sidecars then do, too.
    full_names = {name: _sidecar_name(pattern, name) for name in claimants}
    exact = [name for name in claimants if full_names[name] == sidecar]
    if len(exact) == 1:
        return exact
    in_its_case = [name for name in claimants if composed(full_names[name]) == composed(sidecar)]
    if len(in_its_case) == 1:
        return in_its_case
    return claimants
