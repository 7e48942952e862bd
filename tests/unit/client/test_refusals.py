"""A single 429 is a hint; several that came after about the same number of calls are proof."""

from random import Random

from proofsweep.client.lane_model import Cycle
from proofsweep.client.refusals import Refusals


def refusals(*calls: int, usual: float = 100.0) -> Refusals:
    """Return cycles with so many calls each."""
    found = Refusals(usual)
    for number in calls:
        found.add(Cycle(stretches=[(1.0, 0), (2.0, number)]))
    return found


def test_cycles_that_are_alike_are_proof() -> None:
    """An empty bucket gives nearly the same number of calls after each pause."""
    agreeing = refusals(400, 60, 61, 60, usual=400.0).agreeing()

    assert [cycle.calls for cycle in agreeing] == [60, 61, 60]


def test_cycles_that_differ_are_none() -> None:
    """Chance spreads as far as its mean."""
    assert not refusals(14, 90, 41, 3, 120).agreeing()


def test_cycles_that_chance_would_bring_anyway_need_more_that_agree() -> None:
    """Where one call in twenty is refused, twenty calls are nothing special."""
    assert not refusals(20, 22, 19, usual=20.0).agreeing()
    assert refusals(*(20, 22, 19) * 4, usual=20.0).agreeing()


def test_refusals_at_random_rarely_agree() -> None:
    """Else a lane would be given up for noise."""
    chance, false_proofs = Random(7), 0  # noqa: S311 - draws, guards nothing
    for _ in range(500):
        calls = [int(chance.expovariate(1 / 100)) for _ in range(10)]
        false_proofs += bool(refusals(*calls).agreeing())

    assert false_proofs < 10


def test_the_chance_of_one_call_in_25_is_thought_of_where_429s_are_not_rare() -> None:
    """While little was counted, a few short cycles are no proof of a narrow lane."""
    assert not refusals(5, 1, 6, usual=100.0).agreeing()
    assert refusals(5, 1, 6, 3, 4, 5, usual=100.0).agreeing()
    assert refusals(5, 1, 6, usual=300.0).agreeing()


def test_what_was_learned_from_is_forgotten() -> None:
    """The same cycles prove nothing twice."""
    found = refusals(14, 14, 14, usual=400.0)

    found.forget()
    found.add(Cycle(stretches=[(1.0, 14)]))

    assert not found.agreeing()
