"""How a leg can end: each ending is one entry, which says all that runs, commands, flows and alerts make of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Self


@dataclass(frozen=True, slots=True)
class Ending:
    word: str  # as in the column `ended_by`
    meaning: str  # when a leg ends so, in a clause
    exit_code: int  # of a command whose run ended so, while rows remain
    state: str  # the name of the state of its flow run
    alert: str | None = None  # the kind of the alert that tells of this state; None if nobody is told
    does_its_work: bool = False  # whether the leg did what it was to do, if it finished rows
    is_cancelled: bool = False  # whether the state is of Prefect's type Cancelled; those of other endings are not


class EndedBy(StrEnum):
    ending: Ending

    def __new__(cls, ending: object) -> Self:
        """Make the word of an ending. `EndedBy("quota")`, which finds an ending by its word, does not call this."""
        if not isinstance(ending, Ending):
            raise TypeError(ending)
        ended_by = str.__new__(cls, ending.word)
        ended_by._value_ = ending.word
        ended_by.ending = ending
        return ended_by

    COMPLETE = Ending("complete", "every row has its outcome", 0, "Completed", does_its_work=True)
    QUOTA = Ending("quota", "the quota is spent or reserved", 5, "QuotaSpent", "rows_remain", does_its_work=True)
    WINDOW = Ending(
        "window", "its window closed, or its calls are used up", 6, "WindowClosed", "rows_remain", does_its_work=True
    )
    CANCELLED = Ending("cancelled", "a person asked it to stop", 6, "Cancelled", is_cancelled=True)
    INTERRUPTED = Ending(
        "interrupted", "SIGTERM or SIGHUP came, as at a shutdown", 6, "Interrupted", "rows_remain", is_cancelled=True
    )
    KEY_REFUSED = Ending("key_refused", "the service refused the key", 7, "KeyRefused", "key_refused")
    BREAKER = Ending("breaker", "the service or the files' source could not be relied on", 8, "Outage", "outage")
    KILLED = Ending("killed", "its process or its machine is gone", 6, "Crashed", "crashed")
    ERROR = Ending("error", "a mistake of this program", 1, "Failed", "failed")
    SUPERSEDED = Ending("superseded", "other runs of the catalog took its place", 0, "Completed")


ENDINGS: Mapping[str, Ending] = MappingProxyType({word: word.ending for word in EndedBy})
"""Every ending by its word, as tables and receipts have it."""


def ending_of(word: object) -> Ending | None:
    """Return the ending of a word as receipts have it; None for a leg that has not ended."""
    return ENDINGS.get(str(word))
