"""A long catalog is played in part, and the rest in proportion."""

from dataclasses import replace

import pytest

from proofsweep.model.observed import ObservedLane, ObservedLink, ObservedService
from proofsweep.verify.rehearsal.play import Night, play
from proofsweep.verify.rehearsal.scaled import play_whole, spread

SERVICE = ObservedService(
    origin="a sample",
    rows=20,
    slot_seconds=(0.05, 0.1, 0.2),
    verify_seconds=(0.1, 0.5, 2.0),
    lane=ObservedLane(rate=50.0, burst=50.0),
    link=ObservedLink(fixed_seconds=0.1, of_all=2e7),
)


def night(rows: int, **otherwise: object) -> Night:
    """Make a night whose small files come first: the lane limits these, and the link the large ones."""
    sizes = [100_000] * (rows // 2) + [1_600_000] * (rows - rows // 2)
    facts: dict[str, object] = {"sizes": sizes, "service": SERVICE, "workers": 128, "first_rate": 6.0}
    return Night(**facts | otherwise)  # type: ignore[arg-type]  # the night's own fields


@pytest.mark.parametrize("known_rate", [None, 48.0])
def test_a_part_tells_the_end_of_the_whole(known_rate: float | None) -> None:
    """Within three hundredths, although the first half of the catalog is unlike the second."""
    tonight = night(8_000, known_rate=known_rate)
    whole, estimated = play(tonight), play_whole(tonight, most=2_000)

    assert estimated.seconds == pytest.approx(whole.seconds, rel=0.03)
    assert estimated.rows == 8_000
    assert estimated.calls == pytest.approx(whole.calls, rel=0.02)


@pytest.mark.parametrize("closes", [30.0, 100.0, 250.0])
def test_a_part_tells_how_far_a_window_goes(closes: float) -> None:
    """Whether it closes among the first rows or among the last."""
    tonight = night(8_000, closes_after_seconds=closes, known_rate=48.0)
    whole, estimated = play(tonight), play_whole(tonight, most=2_000)

    assert estimated.rows == pytest.approx(len(whole.begun), rel=0.04)
    assert estimated.seconds == pytest.approx(whole.seconds, rel=0.04)


def test_a_short_catalog_is_played_as_it_is() -> None:
    """Nothing is estimated then; of a short one, the middle of three plays counts."""
    short, longer = night(500), night(2_000)

    ends = sorted(play(replace(short, seed=seed)).seconds for seed in (1, 2, 3))
    assert play_whole(short).seconds == ends[1]
    assert play_whole(longer).seconds == play(longer).seconds


def test_sizes_are_picked_evenly() -> None:
    """From the first on."""
    assert spread(range(10), 5) == [0, 2, 4, 6, 8]
    assert spread(range(7), 7) == list(range(7))


def test_a_window_that_never_closes_is_none() -> None:
    """A million rows of the same kind end in proportion."""
    tonight = replace(night(100_000), closes_after_seconds=1e9, known_rate=48.0)

    assert play_whole(tonight, most=1_000).rows == 100_000
