"""The suite can fail: for each sentence there is a sandbox that breaks it, and the check of that sentence finds it."""

from collections.abc import Callable

import pytest

import sandbox
from conformance import CHECKS, FAILED, PASSED, Risk
from sandbox.mutants import MUTANTS

from .conftest import Examine, Given

ASK_FIRST = {"errors-5-429s-that-were-met": ["errors-5-code-on-429"]}
"""A check that only looks back needs another one that sees something."""


@pytest.fixture
def prepare(operator: sandbox.Operator, furnished: Given, furnish: Callable[[], Given]) -> Callable[[str], Given]:
    """Make ready for a check: a tenant of its own where it rotates or erases, and a narrow lane for the throttle's."""

    def prepare(rule: str) -> Given:
        if rule.startswith("errors-5"):
            operator.set_lane(2, 4)
        return furnish() if CHECKS[rule].risk in {Risk.ROTATES, Risk.ERASES} else furnished

    return prepare


def test_every_check_has_a_mutant() -> None:
    """No check without a proof that it can fail, and no mutant of a rule that nobody checks."""
    assert {mutant.rule for mutant in MUTANTS.values()} == set(CHECKS)


@pytest.mark.parametrize("name", MUTANTS)
def test_check_finds_the_mutant_of_its_sentence(
    name: str, operator: sandbox.Operator, examine: Examine, prepare: Callable[[str], Given]
) -> None:
    """With that one rule broken, the check that is named for it fails, and says what was seen."""
    rule = MUTANTS[name].rule
    given = prepare(rule)
    operator.set_mutant(name)

    results, _ = examine([*ASK_FIRST.get(rule, []), rule], given)

    assert (results[-1].check.name, results[-1].result) == (rule, FAILED), results[-1].said
    assert results[-1].said


@pytest.mark.parametrize("name", CHECKS)
def test_check_passes_where_no_rule_is_broken(name: str, examine: Examine, prepare: Callable[[str], Given]) -> None:
    """Each check passes by itself, and takes no more keyed calls than it says."""
    results, calls = examine([*ASK_FIRST.get(name, []), name], prepare(name))

    assert [(each.result, each.said) for each in results] == [(PASSED, "")] * len(results)
    assert calls <= sum(each.check.calls for each in results)
