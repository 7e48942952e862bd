"""Each check finds its mutants: sandboxes that break the check's sentence."""

from collections.abc import Callable

import pytest

from partner_conformance import ADVICE, CHECKS, FAILED, PASSED, Risk
from partner_conformance.sentences import SENTENCES

from ..mutants import MUTANTS
from ..mutants.operator import MutantOperator
from .conftest import Examine, Given

# These checks read earlier replies only, so another check must make the call first.
RUN_FIRST = {
    "errors-5-429s-that-were-met": ["errors-5-a-429-tells-what-to-do"],
    "resources-every-reply-has-its-members": ["endpoints-5-cursor-alone"],
    "resources-every-timestamp-is-seconds": ["resources-proof-display-fields"],
}
ADVISED = {
    "endpoints-slot-wants-fields-before-file",
    "verdicts-alike-for-another-tenant",
    "verdicts-bytes-around-the-samples-of-a-one-file",
    "verdicts-bytes-around-the-samples-of-a-pair",
}
"""What these find is another reading of the contract."""


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


def test_every_check_has_its_sentence() -> None:
    """The table of sentences names each check, and no sentence is without a check and a reason."""
    assert {name for each in SENTENCES for name in each.checks} == set(CHECKS)
    assert [each.text for each in SENTENCES if bool(each.checks) == bool(each.why_not)] == []


@pytest.mark.parametrize("name", MUTANTS)
def test_check_finds_the_mutant_of_its_sentence(
    name: str, operator: MutantOperator, examine: Examine, prepare: Callable[[str], Given]
) -> None:
    """The check of the broken rule fails, and says what it found."""
    rule = MUTANTS[name].rule
    given = prepare(rule)
    operator.set_mutant(name)

    results, _ = examine([*RUN_FIRST.get(rule, []), rule], given)

    expected = ADVICE if rule in ADVISED else FAILED
    assert (results[-1].check.name, results[-1].result) == (rule, expected), results[-1].said
    assert results[-1].said


@pytest.mark.parametrize("name", CHECKS)
def test_check_passes_where_no_rule_is_broken(name: str, examine: Examine, prepare: Callable[[str], Given]) -> None:
    """Each check passes alone, and makes no more keyed calls than it declares."""
    results, calls = examine([*RUN_FIRST.get(name, []), name], prepare(name))

    assert [(each.result, each.said) for each in results] == [(PASSED, "")] * len(results)
    assert calls <= sum(each.check.calls for each in results)
