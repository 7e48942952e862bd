"""Mutants: the sandbox with one broken rule of the contract at a time. Each conformance check must find its mutants.

The service does not know them: each one changes a request, an answer or a part of the service from outside.
To add one, put it into the module of the same subject, with the check's name as its `rule`.
"""

from . import (
    binding,
    errors,
    keys,
    metering,
    paging,
    proof_list,
    proofs,
    requests,
    rotation,
    tenants,
    uploads,
    usage,
    verdicts,
)
from .definition import Mutant
from .wild import WILD

_ALL = (
    *keys.MUTANTS,
    *tenants.MUTANTS,
    *usage.MUTANTS,
    *metering.MUTANTS,
    *proof_list.MUTANTS,
    *paging.MUTANTS,
    *proofs.MUTANTS,
    *uploads.MUTANTS,
    *requests.MUTANTS,
    *verdicts.MUTANTS,
    *binding.MUTANTS,
    *errors.MUTANTS,
    *rotation.MUTANTS,
    *(each for each in WILD.values() if each.rule),
)


def _by_name() -> dict[str, Mutant]:
    """Name each mutant after its rule; the second one of a rule ends in `~2`."""
    named: dict[str, Mutant] = {}
    for mutant in _ALL:
        count = sum(each.rule == mutant.rule for each in named.values())
        named[f"{mutant.rule}~{count + 1}" if count else mutant.rule] = mutant
    return named


MUTANTS = _by_name()
