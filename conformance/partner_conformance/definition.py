"""What a check is: a function for one sentence of the contract. Its name begins with the section. Pure."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from partner_conformance.subject import SHARED_CALLS, Subject


class Risk(StrEnum):
    """What a check does to the service; a check with a risk runs only if it is named."""

    NONE = "does nothing that stays"
    SPENDS = "spends much"  # calls, bytes or time
    ROTATES = "rotates the key"
    EXPOSES = "sends the key in a URL"
    ERASES = "erases a proof"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One sentence of the contract that can be tested from outside.

    Attributes:
        own_calls: the most keyed calls that it makes for itself alone.
        shares: what it reads together with other checks, a name in SHARED_CALLS; empty if nothing.
        needs: the names of the inputs that it requires.
    """

    name: str
    sentence: str
    run: Callable[[Subject], None]
    own_calls: int
    shares: str
    needs: tuple[str, ...]
    risk: Risk

    @property
    def calls(self) -> int:
        """The most keyed calls that it makes if it runs alone."""
        return self.own_calls + SHARED_CALLS.get(self.shares, 0)


def check(
    *, calls: int = 0, shares: str = "", needs: tuple[str, ...] = (), risk: Risk = Risk.NONE
) -> Callable[[Callable[[Subject], None]], Check]:
    """Make a check from a function: its name is the check's name, its docstring's first line the sentence.

    The function returns if the service obeys the sentence; otherwise it raises Violation or NotTried.
    """

    def make(function: Callable[[Subject], None]) -> Check:
        sentence = (function.__doc__ or "").strip().splitlines()[0]
        return made_of(function, function.__name__, sentence, calls=calls, shares=shares, needs=needs, risk=risk)

    return make


def made_of(
    run: Callable[[Subject], None],
    name: str,
    sentence: str,
    *,
    calls: int = 0,
    shares: str = "",
    needs: tuple[str, ...] = (),
    risk: Risk = Risk.NONE,
) -> Check:
    """Make a check of a function that has no name and sentence of its own."""
    name = name.replace("_", "-")
    return Check(name=name, sentence=sentence, run=run, own_calls=calls, shares=shares, needs=needs, risk=risk)
