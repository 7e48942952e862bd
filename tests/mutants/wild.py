"""Wrong services by what they do wrong, written before the checks that find some of them.

A seed takes a third of them away from those who write checks. What is left may be the mutant of a check's rule.
"""

from random import Random

from . import wild_keys, wild_proofs, wild_verify
from .definition import Mutant

WILD: dict[str, Mutant] = {**wild_verify.SERVICES, **wild_keys.SERVICES, **wild_proofs.SERVICES}


def held_out(seed: int) -> list[str]:
    """Return the third of the wrong services that a seed takes away."""
    return sorted(Random(seed).sample(sorted(WILD), len(WILD) // 3))  # noqa: S311 - a draw, not a secret
