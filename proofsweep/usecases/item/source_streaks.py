"""When files that cannot be read are no fault of theirs: pure, the time is an argument."""

from dataclasses import dataclass, field
from enum import Enum


class Blame(Enum):
    """What to make of one more file that cannot be read."""

    FILE = "file"
    NOBODY_YET = "nobody yet"
    SOURCE = "source"


@dataclass(slots=True)
class SourceStreak:
    """Files of one bucket that were kept from us in a row, none having been read in between.

    Attributes:
        since: seconds, when the first of them failed.
        is_away: a file that was read before cannot be read either.
    """

    since: float
    locations: set[str] = field(default_factory=set)
    is_away: bool = False

    def blame(self, now: float, *, threshold: int, patience_seconds: float) -> Blame:
        """Wait for so long; then a few files are to blame themselves; not many, and not one that was read before."""
        if now - self.since < patience_seconds:
            return Blame.NOBODY_YET
        return Blame.SOURCE if self.is_away or len(self.locations) >= threshold else Blame.FILE
