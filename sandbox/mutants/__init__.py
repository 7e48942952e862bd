"""Mutants: the sandbox with one rule of the contract broken at a time, to try whoever claims to find that.

The service knows nothing of them: each is a change from outside, to a request, an answer, or a part of the service.
"""

from sandbox.mutants import errors, keys, listings, proofs, rotation, uploads, usage, verdicts
from sandbox.mutants.mutant import Mutant

_ALL = (
    *keys.MUTANTS,
    *usage.MUTANTS,
    *listings.MUTANTS,
    *proofs.MUTANTS,
    *uploads.MUTANTS,
    *verdicts.MUTANTS,
    *errors.MUTANTS,
    *rotation.MUTANTS,
)


def _named() -> dict[str, Mutant]:
    """Name each mutant by its rule; a second one of the same rule has a number."""
    named: dict[str, Mutant] = {}
    for mutant in _ALL:
        count = sum(each.rule == mutant.rule for each in named.values())
        named[f"{mutant.rule}~{count + 1}" if count else mutant.rule] = mutant
    return named


MUTANTS = _named()
