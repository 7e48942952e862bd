"""Wrong services by what they do wrong. No check was written for them; a third of them is held out by a seed."""

from random import Random

from . import wild_keys, wild_proofs, wild_verify
from .definition import Mutant

WILD: dict[str, Mutant] = {**wild_verify.SERVICES, **wild_keys.SERVICES, **wild_proofs.SERVICES}


def held_out(seed: int) -> list[str]:
    """Return the third of the wrong services that a seed takes away."""
    return sorted(Random(seed).sample(sorted(WILD), len(WILD) // 3))  # noqa: S311 - a draw, not a secret
