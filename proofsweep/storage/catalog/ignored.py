"""What a scan saw and did not take as audio: counted, so that nothing goes missing unsaid."""

from collections import Counter
from enum import StrEnum

_MOST_EXAMPLES = 3


class Cause(StrEnum):
    """Why an entry of a folder became no row."""

    NOT_AUDIO = "not_audio"
    ORPHAN_SIDECARS = "orphan_sidecars"
    UNREADABLE = "unreadable"


class Ignored:
    """Counts by cause, and the first few names of each."""

    def __init__(self) -> None:
        self._counts: Counter[Cause] = Counter()
        self.examples: dict[Cause, list[str]] = {cause: [] for cause in Cause}

    def note(self, cause: Cause, name: str) -> None:
        """Count one entry."""
        self._counts[cause] += 1
        if len(self.examples[cause]) < _MOST_EXAMPLES:
            self.examples[cause].append(name)

    def __str__(self) -> str:
        return f"{self.not_audio} not audio, {self.orphan_sidecars} orphan sidecars, {self.unreadable} unreadable"

    @property
    def not_audio(self) -> int:
        """Files that are no audio, hidden ones among them."""
        return self._counts[Cause.NOT_AUDIO]

    @property
    def orphan_sidecars(self) -> int:
        """Sidecars that no audio beside them asks for."""
        return self._counts[Cause.ORPHAN_SIDECARS]

    @property
    def unreadable(self) -> int:
        """Folders and files that could not be looked into, and entries that are neither."""
        return self._counts[Cause.UNREADABLE]
