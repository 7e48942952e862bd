"""The sandbox keeps the contract, in whatever way it fills what the contract leaves open."""

from collections.abc import Callable

import pytest

import sandbox
from conformance import CHECKS, FAILED, PASSED, Risk

from .conftest import Examine, Given

WAYS = [(seed, False) for seed in range(21)] + [(seed, True) for seed in (0, 5, 11)]
"""Seeds of silences, 0 being the sandbox's own way, and whether it is a later release of the contract."""
WITHOUT_COST = [name for name, check in CHECKS.items() if check.risk is not Risk.SPENDS]
NEED_NOT_BE_THERE = {
    "errors-5-429s-that-were-met",
    "resources-grade-members",
    "service-publicly-trusted-stays-false",
}
"""What looks at a member that an answer may lack, or at a 429 that nobody met."""
OWED: dict[bool, set[str]] = {False: set(), True: {"resources-health-deployed-at-in-seconds"}}
"""What must be complained about, by whether it is a later release."""


@pytest.mark.parametrize(("seed", "evolve"), WAYS)
def test_no_complaint_about_the_sandbox(
    seed: int, evolve: bool, operator: sandbox.Operator, examine: Examine, furnish: Callable[[], Given]
) -> None:
    """A check demands only what the contract says; of a later release, only the ISO date of an earlier one is found."""
    given = furnish()
    operator.set_silences(seed, evolve=evolve)

    results, _ = examine(WITHOUT_COST, given)

    assert {each.check.name: each.said for each in results if each.result == FAILED}.keys() == OWED[evolve]
    assert {each.check.name for each in results if each.result != PASSED} <= NEED_NOT_BE_THERE | OWED[evolve]
