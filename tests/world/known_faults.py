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


_OF_ANSWER = r"(latest: \w+ is [^;]*, {0}; .*|due: --max-age \w+ (takes|leaves out) \w+, whose newest answer is {0})"

KNOWN: tuple[KnownFault, ...] = (
    KnownFault(
        number="1.1",
        what="of two answers that one counts as newer whose leg ended, or was settled, later, and not that given last",
        levels=("kills", "two", "clocks", "lag", "all"),
        problem=_OF_ANSWER.format("of a (killed leg that was settled|leg that ended) later"),
        level="two",
        seed=4,
    ),
    KnownFault(
        number="1.5",
        what="what a catalog lists is said by the plan whose machine's clock was furthest ahead, and not by the newest",
        levels=("clocks", "all"),
        problem=r"listings: \S+ is listed by \w+ \([^)]*clock [+-].*, and the newest is .*"
        r"|listings: .*, and the newest is \w+ \([^)]*clock -.*",
        level="clocks",
        seed=40,
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
        number="1.11",
        what="a run that was given up still says what its catalog lists",
        levels=("kills", "two", "clocks", "lag", "all"),
        problem=r"listings: \S+ is listed by \w+ \([^)]*, superseded\), and the newest is .*",
        level="lag",
        seed=43,
    ),
    KnownFault(
        number="1.17",
        what="commit, parts and lease learn from a listing what their own process knows, and the listing is late",
        levels=("lag", "all"),
        problem=(
            r"superseded: .* is superseded without a row, and nobody answered .* since it was planned"
            r"|(latest|due): .* of a row that is in no part and never will be.*"
            r"|(latest|due): .* of a leg whose entry the index lacks.*"
            r"|tasks: .*\berror(, \w+)*"
            r"|requests_kept: .*"
        ),
        level="lag",
        seed=1,
    ),
)


def known_fault(level: str, problem: str) -> str | None:
    """Return the number of the known fault that a problem shows; None if it is a new one."""
    for fault in KNOWN:
        if level in fault.levels and re.match(fault.problem, problem):
            return fault.number
    return None
