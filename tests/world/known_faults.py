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


_LEG = r"legs: leg \d+ of \S+"

KNOWN: tuple[KnownFault, ...] = (
    KnownFault(
        number="2.2",
        what="a store that goes away in a run is written to below its mount point: plans and rows are lost there",
        levels=("mounts", "all"),
        problem=(
            r"rows: \S+ has rows and no plan|last_night: .* is missing from the results store \S+"
            r"|last_night: it ended with verify .*: (breaker|ResultsError: There is no run .*)"
            r"|requests_kept: .* stands there 2 times"
            r"|rows: 2 rows of \(.*\)|counts: \S+ status says .*, its rows .*"  # a part between others is lost
            r"|superseded: .* is superseded without a row, and nobody answered .*"  # planned beside an empty store
            r"|commands: last-ingest: ingest drops: RunIsActive: This folder is being worked on by process \d+.*"
            r"|commands: last-ingest: ingest drops: breaker.*"  # a lost pass has emptied the folder
            r"|commands: last-\w+: \w+: ResultsError: There is no run .*"
        ),
        event=r"store is an empty one",
        level="mounts",
        seed=5,
    ),
    KnownFault(
        number="6.11",
        what="a store that fails once between the begin of a leg and its first file ends it as if by a mistake",
        levels=("store", "gateway", "all"),
        problem=rf"{_LEG} ended with error: The work broke off\.",
        event=r"store (fails|is_away|hangs)",
        level="store",
        seed=None,
    ),
)


def known_fault(level: str, problem: str, events: Iterable[str]) -> str | None:
    """Return the number of the known fault that a problem shows; None if it is a new one."""
    shown = (fault.number for fault in KNOWN if fault.is_shown(level, problem, events))
    return next(shown, None)
