"""Faults: failures that the operator injects into chosen calls. Pure.

To add one, name its kind in `FaultKind`. `with_faults` changes a finished answer; `pipeline.py` applies the kinds that
act before the answer, or on the connection. List it in `docs/sandbox.md`.
"""

import json
from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum
from random import Random
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from proofsweep_sandbox.answers import Answer, json_answer


class FaultKind(StrEnum):
    """What fails. The first three act before the request's body is read; the others change the finished answer."""

    SLOW = "slow"  # the answer is sent `seconds` later
    HANG = "hang"  # no answer is sent
    STATUS = "status"  # `status` and `code` (and `headers`) instead of an answer
    ANSWER = "answer"  # members of the body are set (`answer`) or left out (`without`)
    HEADERS = "headers"  # headers are set, or left out where the value is null
    TRUNCATE = "truncate"  # the full Content-Length, and half of the body


class Fault(BaseModel):
    """One fault: the call that it strikes (a name, or `*` for all), what it does, and how often.

    It skips the first `after` calls. Of the rest it strikes a random `share`, at most `count` times.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    call: str
    kind: FaultKind
    status: int = Field(default=500, ge=200, le=599)
    code: str = "internal"
    retry_after: int | None = None
    seconds: float = Field(default=1.0, ge=0)
    answer: dict[str, Any] = {}
    without: tuple[str, ...] = ()
    headers: dict[str, str | None] = {}
    share: float = Field(default=1.0, ge=0, le=1)
    count: int | None = Field(default=None, ge=0)
    after: int = Field(default=0, ge=0)


class FaultRule:
    """A fault with two counters: calls that it `met`, and calls that it `struck`."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self.met = 0
        self.struck = 0

    def strikes(self, call: str, chance: Random) -> bool:
        """Decide for one call, and count it."""
        fault = self.fault
        if fault.call not in {call, "*"}:
            return False
        self.met += 1
        # A number is drawn for each call that could be struck, and for no other: so a seed gives the same faults.
        is_spent = fault.count is not None and self.struck >= fault.count
        if self.met <= fault.after or is_spent or chance.random() >= fault.share:
            return False
        self.struck += 1
        return True


class Faults:
    """The active rules, in the order of their addition."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self.clear()

    def clear(self) -> None:
        """Remove every rule, and restart the random numbers from the seed."""
        self._chance = Random(self._seed)  # noqa: S311 - repeatable on purpose
        self.rules: list[FaultRule] = []

    def add(self, fault: Fault) -> None:
        self.rules.append(FaultRule(fault))

    def drawn(self, call: str) -> list[Fault]:
        return [rule.fault for rule in self.rules if rule.strikes(call, self._chance)]


def with_faults(answer: Answer, faults: Iterable[Fault]) -> Answer:
    """Apply the faults to an answer; faults of the connection are applied in the pipeline."""
    for fault in faults:
        body = answer.body
        if fault.kind is FaultKind.ANSWER and answer.status < 300 and body:  # noqa: PLR2004 - a success only
            members = {**json.loads(body), **fault.answer}
            for name in fault.without:
                members.pop(name, None)
            body = json_answer(members).body
        headers = dict(answer.headers)
        for name, value in fault.headers.items():
            if value is None:
                headers.pop(name.lower(), None)
            else:
                headers[name.lower()] = value
        answer = replace(answer, body=body, headers=headers)
    return answer
