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
    seed: int

    def is_shown(self, level: str, problem: str, events: Iterable[str]) -> bool:
        return (
            level in self.levels
            and re.fullmatch(self.problem, problem) is not None
            and (not self.event or any(re.match(self.event, event) for event in events))
        )


_OF_ANSWER = r"(latest: \w+ is [^;]*, {0}; .*|due: --max-age \w+ (takes|leaves out) \w+, whose newest answer is {0})"
_LEG = r"legs: leg \d+ of \S+"
_CUT_SHORT = ("kills", "store", "clocks", "gateway", "lag", "all")  # processes are killed, or their store fails

KNOWN: tuple[KnownFault, ...] = (
    KnownFault(
        number="1.1",
        what="of two answers that one counts as newer whose leg ended, or was settled, later, and not that given last",
        levels=("kills", "store", "two", "clocks", "lag", "gateway", "all"),
        problem=_OF_ANSWER.format("of a (killed leg that was settled|leg that ended) later"),
        level="two",
        seed=2_004,
    ),
    KnownFault(
        number="1.4",
        what="an entry of the ledger that a lagging listing lacks is written once more, behind the last one",
        levels=("lag", "all"),
        problem=r"audit: _ledger/\d+/\d+\.json: is no entry, or names a receipt that another entry names",
        event=r"listings lag",
        level="all",
        seed=117,
    ),
    KnownFault(
        number="1.5",
        what="what a catalog lists is said by the plan whose machine's clock was furthest ahead, and not by the newest",
        levels=("clocks", "all"),
        problem=r"listings: \S+ is listed by \w+ \([^)]*clock [+-].*, and the newest is .*"
        r"|listings: .*, and the newest is \w+ \([^)]*clock -.*",
        level="clocks",
        seed=12,
    ),
    KnownFault(
        number="1.7",
        what="the answers of a killed leg count as newer than all others until somebody settles it",
        levels=("kills", "two", "clocks", "lag", "all"),
        problem=_OF_ANSWER.format("of a killed leg that nobody has settled"),
        level="kills",
        seed=31,
    ),
    KnownFault(
        number="1.8",
        what="a run is superseded because of answers older than its plan: their leg was killed, or a clock wrong",
        levels=_CUT_SHORT,
        problem=r"superseded: .* is superseded (without a row|with \d+ rows of its own), and nobody answered .*",
        level="all",
        seed=19,
    ),
    KnownFault(
        number="1.11",
        what="a run that was given up still says what its catalog lists",
        levels=("kills", "two", "clocks", "lag", "all"),
        problem=r"listings: \S+ is listed by \w+ \([^)]*, superseded\), and the newest is .*",
        level="lag",
        seed=41,
    ),
    KnownFault(
        number="1.2",
        what="a leg whose process ended between its receipt and its entry never gets that entry, nor its row in `runs`",
        levels=_CUT_SHORT,
        problem=rf"{_LEG} has no entry in the ledger|(latest|due): .* of a leg that has no entry.*",
        level="kills",
        seed=82,
    ),
    KnownFault(
        number="1.3",
        what="a leg whose process ended between its entry in the ledger and its row in `runs` never gets that row",
        levels=_CUT_SHORT,
        problem=rf"{_LEG} has an entry, and no row in runs",
        level="kills",
        seed=93,
    ),
    KnownFault(
        number="1.12",
        what="a store that fails once while a leg settles the one before ends the new one at once, and first",
        levels=("store", "gateway", "all"),
        problem=rf"{_LEG} ended with error before leg \d+ was settled: The work broke off\.",
        event=r"store (fails|is_away|hangs)",
        level="store",
        seed=271,
    ),
    KnownFault(
        number="1.17",
        what="commit, parts and lease learn from a listing what their own process knows, and the listing is late",
        levels=("lag", "all"),
        problem=(
            rf"{_LEG} ended with error: Rows remain, and nothing says why\."
            rf"|{_LEG} was superseded, and no other run had begun"
            r"|requests_kept: .*"
            r"|superseded: .* is superseded without a row, and nobody answered .* since it was planned"
            r"|(latest|due): .* of a row that is in no part and never will be.*"
            r"|plans: .* leaves out \w+, which had no answer"
            r"|(latest|due): .* of a leg whose entry the index lacks.*"
        ),
        event=r"listings lag",
        level="lag",
        seed=9,
    ),
    KnownFault(
        number="1.10",
        what="partitions that start together may supersede their own run",
        levels=("two", "gateway", "all"),
        problem=rf"{_LEG} was superseded, and no other run had begun",
        level="two",
        seed=2_013,
    ),
    KnownFault(
        number="1.10b",
        what="of a run that loses a race against another, some partitions are superseded, and others go on",
        levels=("two", "gateway", "all"),
        problem=r"superseded: .* is superseded with \d+ rows of its own, and nobody answered .*",
        level="two",
        seed=8,
    ),
    KnownFault(
        number="2.2",
        what="a store that goes away in a run is written to below its mount point: plans and rows are lost there",
        levels=("mounts", "all"),
        problem=(
            r"rows: \S+ has rows and no plan|last_night: .* is missing from the results store \S+"
            r"|last_night: it ended with verify .*: (breaker|ResultsError: There is no run .*)"
            r"|commands: last-ingest: ingest drops: RunIsActive: This folder is being worked on by process \d+.*"
        ),
        event=r"store is an empty one",
        level="mounts",
        seed=5,
    ),
    KnownFault(
        number="2.4",
        what="a root that is gone before a file of it was read, or that a list names, is not seen to be away (2.3 too)",
        levels=("mounts", "all"),
        problem=r"outcomes: \S+ row \d+ is ineligible, (missing_audio|unreadable_folder): its file was never touched"
        r"|plans: .* lists .*, and there were .*",
        event=r"music is",
        level="mounts",
        seed=66,
    ),
    KnownFault(
        number="2.4b",
        what="a file that was refused, and whose mount goes before it is looked at again, counts as changed",
        levels=("mounts", "all"),
        problem=r"outcomes: \S+ row \d+ is failed, source_changed: its file was never touched",
        event=r"music is",
        level="mounts",
        seed=113,
    ),
    KnownFault(
        number="6.11",
        what="a store that fails once between the begin of a leg and its first file ends it as if by a mistake",
        levels=("store", "gateway", "all"),
        problem=rf"{_LEG} ended with error: The work broke off\.",
        event=r"store (fails|is_away|hangs)",
        level="store",
        seed=17,
    ),
)


def known_fault(level: str, problem: str, events: Iterable[str]) -> str | None:
    """Return the number of the known fault that a problem shows; None if it is a new one."""
    shown = (fault.number for fault in KNOWN if fault.is_shown(level, problem, events))
    return next(shown, None)
