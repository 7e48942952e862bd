"""Faults that worlds have shown and that wait to be mended, each with the words by which it is recognised and a seed.

A world that shows one of them does not fail. A test holds that each still shows up in its seed: who mends one deletes
it here.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFault:
    number: str
    what: str
    levels: tuple[str, ...]
    problem: str  # a pattern of what the checks say
    level: str  # where it shows up, for sure
    seed: int


KNOWN: tuple[KnownFault, ...] = (
    KnownFault(
        number="1.4",
        what="an entry of the ledger that a lagging listing lacks is written once more, behind the last one",
        levels=("lag", "all"),
        problem=r"audit: _ledger/\d+/\d+\.json: is no entry, or names a receipt that another entry names",
        level="all",
        seed=19,
    ),
    KnownFault(
        number="2.2",
        what="a run or a watch that began in an empty store below a mount that was away goes on in the old one",
        levels=("mounts", "all"),
        problem=(
            r"rows: \w+ has rows and no plan"
            r"|commands: last-ingest: ingest drops: RunIsActive: This folder is being worked on by process \d+"
        ),
        level="mounts",
        seed=5,
    ),
)


def known_fault(level: str, problem: str) -> str | None:
    """Return the number of the known fault that a problem shows; None if it is a new one."""
    for fault in KNOWN:
        if level in fault.levels and re.match(fault.problem, problem):
            return fault.number
    return None
