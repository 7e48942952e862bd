"""Each check finds its mutants: sandboxes that break the check's sentence."""

from collections.abc import Callable

import pytest

from partner_conformance import CHECKS, FAILED, PASSED, Risk

from ..mutants import MUTANTS
from ..mutants.operator import MutantOperator
from .conftest import Examine, Given

# This check reads earlier replies only, so another check must cause a 429 first.
RUN_FIRST = {"errors-5-429s-that-were-met": ["errors-5-code-on-429"]}


@pytest.fixture
def prepare(operator: MutantOperator, furnished: Given, furnish: Callable[[], Given]) -> Callable[[str], Given]:
    """Prepare for a check: a new tenant if it rotates or erases, and a narrow lane if it needs a 429."""

    def prepare(rule: str) -> Given:
        if rule.startswith("errors-5"):
            operator.set_lane(2, 4)
        return furnish() if CHECKS[rule].risk in {Risk.ROTATES, Risk.ERASES} else furnished

    return prepare


def test_every_check_has_a_mutant() -> None:
    """Every check can fail, and every mutant breaks the rule of a check."""
    assert {mutant.rule for mutant in MUTANTS.values()} == set(CHECKS)


@pytest.mark.parametrize("name", MUTANTS)
def test_check_finds_the_mutant_of_its_sentence(
    name: str, operator: MutantOperator, examine: Examine, prepare: Callable[[str], Given]
) -> None:
    """The check of the broken rule fails, and says what it found."""
    rule = MUTANTS[name].rule
    given = prepare(rule)
    operator.set_mutant(name)

    results, _ = examine([*RUN_FIRST.get(rule, []), rule], given)

    assert (results[-1].check.name, results[-1].result) == (rule, FAILED), results[-1].said
    assert results[-1].said


@pytest.mark.parametrize("name", CHECKS)
def test_check_passes_where_no_rule_is_broken(name: str, examine: Examine, prepare: Callable[[str], Given]) -> None:
    """Each check passes alone, and makes no more keyed calls than it declares."""
    results, calls = examine([*RUN_FIRST.get(name, []), name], prepare(name))

    assert [(each.result, each.said) for each in results] == [(PASSED, "")] * len(results)
    assert calls <= sum(each.check.calls for each in results)
