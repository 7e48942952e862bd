"""Several bursts tell whether chance refuses calls, or others who use the lane."""

import pytest

from proofsweep.client.pacing.chance_probe import BURST_GAP_SECONDS, ChanceProbe


def refused_often(calls: int = 20) -> ChanceProbe:
    """Give a probe that has seen a 429 after so many calls, again and again."""
    probe = ChanceProbe()
    for _ in range(200):
        probe.refused(calls)
    return probe


def send_burst(probe: ChanceProbe, expected_calls: float = 1.0, gap_seconds: float = BURST_GAP_SECONDS) -> int:
    """Send a burst after a pause, and give its size; 0 if none is worth it."""
    probe.begin(expected_calls)
    size = 0
    while probe.is_open:
        probe.sent(gap_seconds * size)
        size += 1
    return size


def test_bursts_that_go_through_prove_chance() -> None:
    """An empty bucket would have refused one of them."""
    probe, bursts = refused_often(), 0

    while not probe.is_chance:
        probe.refused(send_burst(probe) + 5)
        bursts += 1

    assert 3 <= bursts <= 5


def test_one_burst_proves_nothing() -> None:
    """Now and then other users leave many tokens."""
    probe = refused_often()

    probe.refused(send_burst(probe))

    assert not probe.is_chance


def test_refused_bursts_end_the_test_for_a_while() -> None:
    """They cost the other users calls."""
    probe = refused_often()
    sent = 0
    while send_burst(probe):
        probe.refused(3)
        sent += 1
    rest = 0
    while not send_burst(probe):
        probe.refused(20)
        rest += 1

    assert not probe.is_chance
    assert 2 <= sent <= 8
    assert rest == 19


def test_chance_that_ends_is_noticed() -> None:
    """Others may come later; each burst is weighed."""
    probe = refused_often()
    for _ in range(4):
        probe.refused(send_burst(probe) + 5)
    assert probe.is_chance

    for _ in range(40):
        probe.refused(min(14, send_burst(probe) - 1))

    assert not probe.is_chance


@pytest.mark.parametrize("calls", [3, 60])
def test_no_burst_where_429s_are_rare_or_too_frequent(calls: int) -> None:
    """Few 429s are accepted anyway; very many are not by chance."""
    assert send_burst(refused_often(calls)) == 0


def test_the_first_429s_start_no_burst() -> None:
    """Many clients with one key are refused often while they look for their parts."""
    probe = ChanceProbe()

    for _ in range(15):
        assert send_burst(probe) == 0
        probe.refused(4)


def test_a_burst_is_larger_than_what_others_leave() -> None:
    """Else it goes through in a shared lane too."""
    assert send_burst(refused_often(28), 1.0) == 12
    assert send_burst(refused_often(28), 4.5) == 19


def test_no_burst_that_chance_alone_would_refuse() -> None:
    """It would show nothing."""
    assert send_burst(refused_often(20), 10.0) == 0


def test_a_burst_that_took_long_shows_nothing() -> None:
    """On a busy machine the bucket refills between two calls."""
    probe = refused_often()

    for _ in range(20):
        size = send_burst(probe, gap_seconds=0.5)
        assert size
        assert probe.refused(size) == 0

    assert not probe.is_chance


def test_a_429_tells_the_size_of_the_burst_before_it() -> None:
    """The pacer must not take a burst for a rate."""
    probe = refused_often()
    size = send_burst(probe)

    assert (probe.refused(7), probe.refused(7)) == (size, 0)
