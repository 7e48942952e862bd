"""Faults: what the operator lets go wrong, on which calls, how often. Pure; the wire obeys elsewhere."""

from enum import StrEnum
from random import Random
from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class FaultKind(StrEnum):
    """What goes wrong. The first four strike before the request's body is read, the others spoil a true answer."""

    SLOW = "slow"  # the answer comes `seconds` later
    HANG = "hang"  # no answer ever
    RESET_BEFORE = "reset_before"  # the connection is reset before the body is read
    STATUS = "status"  # `status` and `code` (and `headers`) instead of an answer
    ANSWER = "answer"  # members of the body are set (`answer`) or left out (`without`)
    HEADERS = "headers"  # headers are set, or left out where the value is null
    OVERSIZED = "oversized"  # the body grows by `size_bytes`
    NOT_JSON = "not_json"  # an HTML page with the true status
    CUT_JSON = "cut_json"  # half of the JSON, said to be whole
    TRUNCATE = "truncate"  # the whole length is announced, half of it is sent
    RESET_AFTER = "reset_after"  # the work is done, then the connection is reset


BEFORE = (FaultKind.SLOW, FaultKind.HANG, FaultKind.RESET_BEFORE, FaultKind.STATUS)


class Fault(BaseModel):
    """One rule: on which call (a name, or `*`) it strikes, what it does, and how often.

    It lets the first `after` calls pass, then strikes a `share` of them, `count` times at most.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    call: str
    kind: FaultKind
    status: int = Field(default=500, ge=200, le=599)
    code: str = "internal"
    retry_after: int | None = None
    seconds: float = Field(default=1.0, ge=0)
    size_bytes: int = Field(default=1024 * 1024, ge=0)
    answer: dict[str, Any] = {}
    without: tuple[str, ...] = ()
    headers: dict[str, str | None] = {}
    share: float = Field(default=1.0, ge=0, le=1)
    count: int | None = Field(default=None, ge=0)
    after: int = Field(default=0, ge=0)


class Rule:
    """A fault and how often it was met and has struck."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self.met = 0
        self.struck = 0

    def strikes(self, call: str, chance: Random) -> bool:
        """Decide for one call, and remember the decision."""
        if self.fault.call not in {call, "*"}:
            return False
        self.met += 1
        is_spent = self.fault.count is not None and self.struck >= self.fault.count
        if self.met <= self.fault.after or is_spent or chance.random() >= self.fault.share:
            return False
        self.struck += 1
        return True


class Faults:
    """The rules in force, in the order in which they were added."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self.clear()

    def clear(self) -> None:
        """Drop every rule; chance starts anew from the seed."""
        self._chance = Random(self._seed)  # noqa: S311 - repeatable on purpose
        self.rules: list[Rule] = []

    def add(self, fault: Fault) -> None:
        """Put one more rule in force."""
        self.rules.append(Rule(fault))

    def set_latency(self, call: str, seconds: float) -> None:
        """Make a call that much slower, in the place of any latency that it had."""
        latency = Fault(call=call, kind=FaultKind.SLOW, seconds=seconds)
        others = [
            rule for rule in self.rules if rule.fault != latency.model_copy(update={"seconds": rule.fault.seconds})
        ]
        self.rules = [*others, Rule(latency)] if seconds else others

    def drawn(self, call: str) -> list[Fault]:
        """Return the faults that strike this call."""
        return [rule.fault for rule in self.rules if rule.strikes(call, self._chance)]
