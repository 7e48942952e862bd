"""Faults that worlds have shown and that wait to be mended, each with the words by which it is recognised and a seed.

A world that shows one of them does not fail. A test holds that each still shows up in its seed: who mends one deletes
it here.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFault:
    number: str
    what: str
    levels: tuple[str, ...]
    problem: str  # a pattern of what the checks say
    event: str = ""  # a pattern of what must have happened in the world; empty if it needs nothing
    level: str  # where it shows up, for sure
    seed: int | None  # None while no world is known that shows it

    def is_shown(self, level: str, problem: str, events: Iterable[str]) -> bool:
        return (
            level in self.levels
            and re.fullmatch(self.problem, problem) is not None
            and (not self.event or any(re.match(self.event, event) for event in events))
        )


KNOWN: tuple[KnownFault, ...] = (
    KnownFault(
        number="2.3b",
        what="a folder that was away while its catalog was planned has a row that says so, also when it is back",
        levels=("mounts", "all"),
        problem=r"outcomes: \S+ row \d+ is ineligible, unreadable_folder: its file was never touched",
        event=r"music|the listing of",
        level="mounts",
        seed=125,
    ),
)


def known_fault(level: str, problem: str, events: Iterable[str]) -> str | None:
    """Return the number of the known fault that a problem shows; None if it is a new one."""
    shown = (fault.number for fault in KNOWN if fault.is_shown(level, problem, events))
    return next(shown, None)
