"""The sandbox obeys the contract, with every choice of unspecified behaviour."""

from collections.abc import Callable

import pytest

import proofsweep_sandbox as sandbox
from partner_conformance import ADVICE, CHECKS, FAILED, PASSED, Risk

from .conftest import Examine, Given

# Seeds of the unspecified behaviour, 0 for the default, and whether the sandbox is a later release.
WAYS = [(seed, False) for seed in range(21)] + [(seed, True) for seed in (0, 5, 11)]
WITHOUT_COST = [name for name, check in CHECKS.items() if check.risk is not Risk.SPENDS]
# Checks that are not tried if an optional member is absent, or if no call was throttled.
MAY_BE_NOT_TRIED = {
    "errors-5-429s-that-were-met",
    "resources-verify-accepted-fields",
}


@pytest.mark.parametrize(("seed", "evolve"), WAYS)
def test_the_sandbox_violates_no_check(
    seed: int, evolve: bool, operator: sandbox.Operator, examine: Examine, furnish: Callable[[], Given]
) -> None:
    """A check demands only what the contract says, also of a later release."""
    given = furnish()
    operator.set_silences(seed, evolve=evolve)

    results, _ = examine(WITHOUT_COST, given)

    assert {each.check.name: each.said for each in results if each.result in {FAILED, ADVICE}} == {}
    assert {each.check.name for each in results if each.result != PASSED} <= MAY_BE_NOT_TRIED
