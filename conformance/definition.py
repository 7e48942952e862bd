"""What a check is: a function that is named for its sentence of the contract, and says it. Pure."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from conformance.subject import Subject


class Risk(StrEnum):
    """What a check does that nobody wants done unasked; such checks run only when they are named."""

    NONE = "does nothing that stays"
    SPENDS = "spends much"  # calls, bytes or time
    ROTATES = "rotates the key"
    ERASES = "erases a proof"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One sentence of the contract that can be tested from outside.

    Attributes:
        calls: most keyed calls that it takes by itself.
        needs: names of the inputs without which it cannot be tried.
    """

    name: str
    sentence: str
    make: Callable[[Subject], None]
    calls: int
    needs: tuple[str, ...]
    risk: Risk


def check(
    *, calls: int, needs: tuple[str, ...] = (), risk: Risk = Risk.NONE
) -> Callable[[Callable[[Subject], None]], Check]:
    """Make a check of a function: its name is the check's, the first line of its docstring the sentence.

    The function returns where the sentence holds, and raises Violation or NotTried otherwise.
    """

    def made(make: Callable[[Subject], None]) -> Check:
        sentence = (make.__doc__ or "").strip().splitlines()[0]
        name = make.__name__.replace("_", "-")
        return Check(name=name, sentence=sentence, make=make, calls=calls, needs=needs, risk=risk)

    return made
